"""Where Loadstone's own programs are."""

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from loadstone.model.errors import PlatformError
from loadstone.model.machine import SERVER

PROGRAMS_REMEDY = "Run `make setup` in the project's folder."
LEFT_OUT = f"`make demo` builds only what the demo needs. {PROGRAMS_REMEDY}"
FOLDER_VARIABLE = "LOADSTONE_BIN_DIR"
"""Names a folder to look in first, for work on the programs themselves."""
PRELOAD = "libloadstone_pair_preload.so"
"""Beside the programs where `make` installed it; a wheel has it within the package."""


def find_driver() -> str:
    """Path of the load driver."""
    return _find("loadstone-driver")


def find_server() -> str:
    """Path of the reference servers."""
    return _find("loadstone-server")


def find_standalone_server() -> str:
    """Path of the reference servers, for a machine without libraries; raises PlatformError if they need libraries: a
    program with an interpreter (ELF's PT_INTERP) cannot run there.
    """
    path = find_server()
    with Path(path).open("rb") as file:
        head = file.read(4096)
    if b"/ld-linux" in head or b"/ld-musl" in head:
        raise PlatformError(f"{path} is linked dynamically and cannot run alone in a machine. {LEFT_OUT}")
    return path


def pair() -> str:
    """Path of the machinery of pairs."""
    return _find("loadstone-pair", LEFT_OUT)


def find_preload() -> str:
    """Path of the library that is loaded into the QEMU of a pair."""
    for folder in _folders():
        path = Path(folder) / PRELOAD
        if path.is_file():
            return str(path)
    spec = importlib.util.find_spec("loadstone.pair_preload")
    if spec is None or spec.origin is None:
        raise PlatformError(f"The library for pairs is not installed. {LEFT_OUT}")
    return spec.origin


def resolve_command(command: list[str]) -> list[str]:
    """A command as this machine runs it."""
    return [find_server(), *command[1:]] if command[0] == SERVER else command


def _find(name: str, remedy: str = PROGRAMS_REMEDY) -> str:
    path = shutil.which(name, path=os.pathsep.join([*_folders(), os.environ.get("PATH", "")]))
    if path is None:
        raise PlatformError(f"The program {name} is not installed. {remedy}")
    return path


def _folders() -> list[str]:
    """Folders to look in, the first one first."""
    named = os.environ.get(FOLDER_VARIABLE, "")
    return [*filter(None, [named]), str(Path(sys.executable).parent)]
