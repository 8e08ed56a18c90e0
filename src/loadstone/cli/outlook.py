"""What a run or a study will take, and whether its load is enough, said before the first second."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from loadstone.cli.screen import warn
from loadstone.judge.outlook import list_warnings
from loadstone.model.load import Arrivals, Load
from loadstone.model.system import Clock
from loadstone.platforms.vm.accelerator import foresee_emulation
from loadstone.platforms.vm.settings import Accelerator
from loadstone.run.manifest import list_criteria
from loadstone.run.spec import RunSpec
from loadstone.study.base import WorkloadRuns
from loadstone.study.summary import RunRequest, RunSummary

LONG_RUN_S = 90.0
"""Seconds from which a time is told in minutes."""


def tell_run(spec: RunSpec) -> None:
    """Tells how long a run takes, and of loads that no verdict can follow from, on standard error."""
    turns = spec.profile.iterations * len(spec.rounds)
    if spec.clock is Clock.REAL:
        several = f" in {turns} parts" if turns > 1 else ""
        phases = spec.profile.phases
        warn(
            f"Takes about {format_duration(turns * phases.total_s)} of load{several}, {phases.lead_s:g} s of it before "
            "the steady state; starting and stopping the system is extra."
        )
    for text in _warnings(spec):
        warn(text)


def tell_study(base: WorkloadRuns, runs: int, requests: Sequence[RunRequest]) -> None:
    """Tells how many runs a study makes at first, and how long they take, on standard error.

    Warns of loads that no verdict can follow from: the study's own, and those that its requests vary.
    """
    spec = base.spec
    if spec.clock is Clock.REAL and runs:
        each_s = spec.profile.iterations * spec.profile.phases.total_s
        many = f"{runs} runs of {format_duration(each_s)}" if runs > 1 else f"a run of {format_duration(each_s)}"
        warn(f"Takes {many} at least, about {format_duration(runs * each_s)} of load.")
    varied = [base.make_spec(request, Path()) for request in requests if not LOADS.isdisjoint(request.settings)]
    for text in dict.fromkeys(text for each in varied or [spec] for text in _warnings(each)):
        warn(text)


LOADS = frozenset({"sessions", "rate"})
"""Settings that vary a load."""
EMULATED_OUTLOOK = "emulated by TCG, not KVM: the figures do not show the cost of KVM"


def tell_emulation(platforms: Collection[object]) -> None:
    """Tells, on standard error, that the machines of a study will be emulated, as far as it is known."""
    why = foresee_emulation() if "vm" in platforms else ""
    if why:
        warn(f"vm: machines will be {EMULATED_OUTLOOK} ({why}).")
    if "pair" in platforms:
        warn(f"pair: machines are {EMULATED_OUTLOOK}.")


def list_emulated(runs: Sequence[RunSummary]) -> list[str]:
    """Returns the platforms whose machines were emulated, each once, in order."""
    return [*dict.fromkeys(run.platform or "machines" for run in runs if run.accelerator == Accelerator.TCG)]


def _warnings(spec: RunSpec) -> Iterator[str]:
    """Of workloads whose load is given; a study that varies it looks for itself."""
    parts = tuple(part for part in spec.parts if _is_given(part.load))
    for criteria in list_criteria(replace(spec, parts=parts)):
        yield from list_warnings(criteria)


def _is_given(load: Load) -> bool:
    return not isinstance(load, Arrivals) or bool(load.rates or load.trace_s)


def format_duration(seconds: float) -> str:
    """A time in seconds, minutes or hours."""
    if seconds < LONG_RUN_S:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 60 * LONG_RUN_S else f"{seconds / 3600:.1f} h"
