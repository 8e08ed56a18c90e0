"""Where Loadstone's own programs are."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from loadstone.model.errors import PlatformError
from loadstone.model.machine import SERVER

REMEDY = "Run `make setup` in the project's folder."
FOLDER_VARIABLE = "LOADSTONE_BIN_DIR"
"""Names a folder to look in first, for work on the programs themselves."""


def driver() -> str:
    """Path of the load driver."""
    return _find("loadstone-driver")


def server() -> str:
    """Path of the reference servers."""
    return _find("loadstone-server")


def pair() -> str:
    """Path of the machinery of pairs."""
    return _find("loadstone-pair")


def preload() -> str:
    """Path of the library that is loaded into the QEMU of a pair."""
    named = Path(os.environ.get(FOLDER_VARIABLE, "")) / "libloadstone_pair_preload.so"
    if named.is_file():
        return str(named)
    found = importlib.util.find_spec("loadstone.pair_preload")
    if found is None or found.origin is None:
        raise PlatformError(f"The library for pairs is not installed. {REMEDY}")
    return found.origin


def resolved(command: list[str]) -> list[str]:
    """A command as this machine runs it."""
    return [server(), *command[1:]] if command[0] == SERVER else command


def _find(name: str) -> str:
    folders = [os.environ.get(FOLDER_VARIABLE, ""), str(Path(sys.executable).parent)]
    search = os.pathsep.join([*filter(None, folders), os.environ.get("PATH", "")])
    path = shutil.which(name, path=search)
    if path is None:
        raise PlatformError(f"The program {name} is not installed. {REMEDY}")
    return path
