"""Two runs at the same time, each on cores of its own, so that what disturbs the host disturbs both alike.

Duet benchmarking (Bulej and others 2020): on a host that others use too, figures taken side by side differ by far less
than those taken one after the other.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from loadstone.model.errors import UsageError
from loadstone.model.machine import PROCESS
from loadstone.model.system import Clock
from loadstone.platforms.registry import get_platform_kind
from loadstone.run.signals import relay_signals
from loadstone.study.base import StudyBase
from loadstone.study.summary import RunRequest

Job = Callable[[], Coroutine[Any, Any, Path]]


def split_cores() -> tuple[set[int], set[int]]:
    """The cores of this process in two groups of one size; a core that is left over stays idle. Raises UsageError."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise UsageError("Two runs at the same time require two cores, but there is one. Remove --duet.")
    half = len(cores) // 2
    return set(cores[:half]), set(cores[half : 2 * half])


def refuse_impossible_duet(base: StudyBase, requests: Sequence[RunRequest]) -> None:
    """Raises UsageError where nothing disturbs anybody, or cores are too few or not ours to give."""
    declared = base.declare()
    if declared.spec.clock is Clock.VIRTUAL:
        raise UsageError("--duet has no effect in virtual time. Remove --duet.")
    settings = [*declared.placement.values(), *(request.settings for request in requests)]
    platforms = {str(setting.get("platform") or setting.get("machine.platform") or PROCESS) for setting in settings}
    elsewhere = sorted(name for name in platforms if not get_platform_kind(name).keeps_cores)
    if elsewhere:
        raise UsageError(f"Programs of {elsewhere[0]} do not stay on their assigned cores. Remove --duet.")
    split_cores()


async def run_at_once(jobs: Sequence[Job]) -> list[Path]:
    """Makes two runs at the same time, the first on the lower cores; both have ended when this returns or raises.

    Each has a thread and an event loop of its own: cores belong to a thread, and what it starts inherits them.
    """
    loop = asyncio.get_running_loop()
    with relay_signals(), ThreadPoolExecutor(len(jobs), "duet") as pool:
        running = [
            loop.run_in_executor(pool, _on_cores, cores, job) for cores, job in zip(split_cores(), jobs, strict=True)
        ]
        ends = await asyncio.gather(*running, return_exceptions=True)
    for end in ends:
        if isinstance(end, BaseException):
            raise end
    return [end for end in ends if isinstance(end, Path)]


def _on_cores(cores: set[int], job: Job) -> Path:
    os.sched_setaffinity(0, cores)  # of this thread alone
    return asyncio.run(job())
