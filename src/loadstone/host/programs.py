"""Where Loadstone's own programs are."""

import os
import shutil
import sys
from pathlib import Path

from loadstone.model.errors import PlatformError
from loadstone.model.machine import SERVER

FOLDER_VARIABLE = "LOADSTONE_BIN_DIR"
"""Names a folder to look in first, for work on the programs themselves."""


def driver() -> str:
    """Path of the load driver."""
    return _find("loadstone-driver")


def server() -> str:
    """Path of the reference servers."""
    return _find("loadstone-server")


def resolved(command: list[str]) -> list[str]:
    """A command as this machine runs it."""
    return [server(), *command[1:]] if command[0] == SERVER else command


def _find(name: str) -> str:
    folders = [os.environ.get(FOLDER_VARIABLE, ""), str(Path(sys.executable).parent)]
    search = os.pathsep.join([*filter(None, folders), os.environ.get("PATH", "")])
    path = shutil.which(name, path=search)
    if path is None:
        raise PlatformError(f"The program {name} is not installed. Run `make setup` in the project's folder.")
    return path
