"""`failover`: the same run several times, a fault in each. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.model.errors import UsageError
from loadstone.model.fault import FaultKind, PlannedFault
from loadstone.model.records.check import CheckId
from loadstone.model.selector import normalize_selector
from loadstone.run.seeds import derive_seed
from loadstone.study.failure import Failure
from loadstone.study.kind import StudyContext
from loadstone.study.kinds.failover.answer import FailoverAnswer, Trial, summarize_trials
from loadstone.study.kinds.failover.section import FailoverSection
from loadstone.study.question import find_first_missing, format_key, list_missing
from loadstone.study.summary import FAULT_METRIC, RunRequest, RunSummary

EARLIEST, LATEST = 0.3, 0.6
"""Between which shares of the steady state a fault comes that was given no time: enough before it to compare with, and
enough after it to recover in."""


@dataclass(frozen=True)
class Failover:
    """n runs with one fault each."""

    workload: str
    fault: FaultKind
    trials: int
    steady_s: float
    at_s: float | None = None
    machine: str = ""
    """Selector of the machine, as `db` or `2.web`; empty for the first that users reach."""

    def plan_runs(self) -> list[RunRequest]:
        """All of them."""
        return [self._request(number) for number in range(1, self.trials + 1)]

    def _request(self, number: int) -> RunRequest:
        at_s = self.at_s
        if at_s is None:
            at_s = self.steady_s * (EARLIEST + (LATEST - EARLIEST) * _chance(number))
        settings = {FAULT_METRIC: PlannedFault(self.fault, round(at_s, 2), self.machine)}
        return RunRequest(format_key(number, self.workload, self.fault), self.workload, settings, number - 1)

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run that is missing."""
        return find_first_missing(self.plan_runs(), runs)

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """Runs that are missing."""
        return len(list_missing(self.plan_runs(), runs))

    def answer(self, runs: Sequence[RunSummary]) -> FailoverAnswer:
        """Returns the outages of all trials so far."""
        trials = tuple(map(_trial, runs))
        return FailoverAnswer(
            workload=self.workload,
            is_answered=not list_missing(self.plan_runs(), runs) and any(trial.is_known for trial in trials),
            headline=tuple(summarize_trials(self.fault, trials, self.machine)),
            fault=self.fault,
            machine=self.machine,
            trials=trials,
        )


def _trial(run: RunSummary) -> Trial:
    """What the fault of a run came to."""
    fault = run.request.fault
    assert fault is not None, "every run of a failover study plans a fault"
    return Trial(run.folder, fault.at_s, _disclosed_failure(run), run.platform, _foreign_pct(run))


def _disclosed_failure(run: RunSummary) -> Failure | None:
    """What a run says of its fault: nothing where the driver itself was late."""
    return None if run.is_driver_bound else run.failure


def _foreign_pct(run: RunSummary) -> float | None:
    return next((check.figure for check in run.list_broken() if check.id is CheckId.FOREIGN_CPU), None)


def _chance(number: int) -> float:
    """From 0 to 1, the same for each trial of a number."""
    return derive_seed(0, FAULT_METRIC, number) / (1 << 63)


def make(section: FailoverSection, context: StudyContext) -> Failover:
    """The question about one workload; raises UsageError."""
    steady_s = context.profile.phases.steady_s
    if section.at is not None and section.at >= steady_s:
        raise UsageError(f"The steady state is over after {steady_s:g} s; a fault at {section.at:g} s is too late.")
    machine = normalize_selector(section.on)
    return Failover(context.workload.name, section.fault, section.trials, steady_s, section.at, machine)
