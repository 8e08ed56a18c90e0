"""The end of a pair: its record goes when nothing else of it is left. Where something is, the record stays, with the
reason, until another command has dealt with it.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from loadstone.host.adopted import AdoptedProcess
from loadstone.model.errors import PlatformError
from loadstone.platforms.pair import control
from loadstone.platforms.pair.record import PairRecord, locate_sides, read_sides

PAIR_END_TIMEOUT_S = 120.0
"""Longest wait for a pair to be gone; each program of each host gets seconds to end by itself."""
PAIR_END_POLL_INTERVAL_S = 0.05


@contextmanager
def forget_when_gone(name: str, list_unreleased: Callable[[], Mapping[str, str]] = dict) -> Iterator[None]:
    """Removes what is stored of a pair when the block has ended it; notes the reason where something is left.

    `list_unreleased` returns the hosts that could not be released, with the reasons. Raises PlatformError where
    something is left and the block raised nothing.
    """
    try:
        yield
    finally:
        record = control.record_of(name)
        failed_end = "" if record is None else explain_remains(record, list_unreleased())
        if record is not None and failed_end:
            control.remember(record.model_copy(update={"failed_end": failed_end}))
        else:
            control.forget(name)
    if failed_end:
        raise PlatformError(failed_end)


def explain_remains(record: PairRecord, unreleased: Mapping[str, str]) -> str:
    """Names what is left of a pair that was ended, with the reason and the remedy; empty where nothing is."""
    if unreleased:
        reasons = "; ".join(f"{host}: {reason}" for host, reason in sorted(unreleased.items()))
        return (
            f"The pair `{record.name}` may still have processes on hosts that could not be released. {reasons}. They "
            f"end with the pair's lease, or when another command uses these hosts. `loadstone pair clean` removes the "
            "record here."
        )
    if record.fleet is None and (processes := list_processes(record)):
        return (
            f"The pair `{record.name}` has ended, but these processes still run: {', '.join(processes)}. "
            f"`loadstone pair end {record.name}` tries again."
        )
    return ""


def list_processes(record: PairRecord) -> list[str]:
    """Names the processes of a pair's sides that run on this host."""
    both = {
        f"{kind} {side.name}": process
        for side in read_sides(locate_sides(record.folder, record.name))
        for kind, process in (("agent", side.agent), ("machine", side.machine))
    }
    return [
        f"{title} (process {process.pid})"
        for title, process in both.items()
        if process is not None and AdoptedProcess(process.pid, process.start).returncode is None
    ]


def wait_until_gone(name: str, within_s: float = PAIR_END_TIMEOUT_S) -> None:
    """Waits until nothing is left of a pair that was told to end. Raises PlatformError where something is."""
    until = time.monotonic() + within_s
    while control.state_of(name) is control.PairState.WITH_KEEPER and time.monotonic() < until:
        time.sleep(PAIR_END_POLL_INTERVAL_S)
    record = control.record_of(name)
    if record is None:
        return
    if record.failed_end:
        raise PlatformError(record.failed_end)
    if control.state_of(name) is control.PairState.WITH_KEEPER:
        raise PlatformError(
            f"The pair `{name}` is still ending: its keeper still runs after {within_s:g} s. "
            "`loadstone pair list` shows whether it has ended since."
        )
    running = ", ".join(list_processes(record)) or "none on this host"
    raise PlatformError(
        f"The keeper of the pair `{name}` ended before the pair did. Processes that still run: {running}. "
        f"`loadstone pair end {name}` tries again; `loadstone pair clean` removes what an ended pair has left."
    )
