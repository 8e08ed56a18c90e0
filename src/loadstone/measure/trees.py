"""Process trees: a process and all below it, and their CPU time. It loads no more than that takes."""

import contextlib
from collections.abc import Iterable
from functools import partial

import psutil

from loadstone.measure.masked import read_shown


def list_members(pid: int) -> list[psutil.Process]:
    """Lists a process and all below it; none when it is gone."""
    family = read_shown(lambda: [root := psutil.Process(pid), *root.children(recursive=True)])
    return family or find_processes(pid)


def find_processes(pid: int) -> list[psutil.Process]:
    """Finds a process by its number; none when it is gone, or when this system does not show when it booted."""
    process = read_shown(partial(psutil.Process, pid))
    return [] if process is None else [process]


def read_tree_cpu_s(pid: int) -> float:
    """CPU seconds of a process and all below it, also of ended children that were waited for; 0 when it is gone."""
    return sum(sum_cpu_seconds([list_members(pid)]).values())


def sum_cpu_seconds(trees: Iterable[Iterable[psutil.Process]]) -> dict[int | str, float]:
    """CPU seconds of each process, also where several trees share one."""
    seconds: dict[int | str, float] = {}
    for process in {process.pid: process for tree in trees for process in tree}.values():
        with contextlib.suppress(psutil.Error):
            seconds[process.pid] = sum(read_cpu_s(process))
    return seconds


def read_cpu_s(process: psutil.Process) -> tuple[float, float]:
    """User and system CPU seconds: what ended children had used stands with the parent that waited for them."""
    times = process.cpu_times()
    return times.user + times.children_user, times.system + times.children_system
