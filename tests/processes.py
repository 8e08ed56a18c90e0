"""Processes that tests look for by their command lines; those that end meanwhile are left out."""

import psutil


def read_command(process: psutil.Process) -> list[str]:
    """The command line of a process; empty where it has ended."""
    try:
        command: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return command


def read_name(process: psutil.Process) -> str:
    """The name of a process' program; empty where it has ended."""
    try:
        name: str = process.name()
    except psutil.Error:
        return ""
    return name


def list_processes_below(pid: int, *arguments: str, recursive: bool = True) -> list[psutil.Process]:
    """Processes that a process started, and those below them, whose command lines have all these arguments."""
    try:
        below = psutil.Process(pid).children(recursive=recursive)
    except psutil.Error:
        return []
    return [process for process in below if set(arguments) <= set(read_command(process))]


def is_running(process: psutil.Process) -> bool:
    """Whether a process has not ended; one that ended and that nobody waited for does not run."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
