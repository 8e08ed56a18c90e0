"""`repeat`: the same run n times, or until a figure is sure. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.study.kind import StudyContext
from loadstone.study.kinds.repeat.answer import (
    FEWEST_REPEATS,
    RepeatAnswer,
    Series,
    collect_series,
    describe_sureness,
    is_sure,
    summarize_runs,
    widen_series,
)
from loadstone.study.kinds.repeat.section import MOST_REPEATS, RepeatSection
from loadstone.study.parameters import RunSettings
from loadstone.study.question import count_verdicts, find_first_missing, format_key
from loadstone.study.summary import RunRequest, RunSummary
from loadstone.study.until import Until, estimate_runs_needed, list_looks


@dataclass(frozen=True)
class Repeat:
    """n runs of one setting."""

    workload: str
    settings: RunSettings
    runs: int
    until: Until | None = None
    """Where it goes on until a figure is so sure."""
    most_runs: int = MOST_REPEATS

    def plan_runs(self) -> list[RunRequest]:
        """The runs that are made in any case."""
        return [self._request(number) for number in range(1, self.runs + 1)]

    def _request(self, number: int) -> RunRequest:
        return RunRequest(format_key(number, self.workload, ""), self.workload, self.settings, number - 1)

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run that is missing."""
        missing = find_first_missing(self.plan_runs(), runs)
        return missing or (self._request(len(runs) + 1) if self._more(runs) else None)

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """Runs that are missing, as far as can be said."""
        return max(0, self.runs - len(runs)) + self._more(runs)

    def _more(self, runs: Sequence[RunSummary]) -> int:
        """About how many runs it takes beyond those, as the scatter so far lets expect; none where that is no use."""
        if self.until is None or len(runs) < self.runs:
            return 0
        later = next((planned for planned in self._looks if planned >= len(runs)), len(runs))
        if len(runs) not in (self.runs, later):
            return later - len(runs)
        metric = self._series(runs).get(self.until.metric)
        if metric is None or metric.half_pct is None or is_sure(self.until, metric):
            return 0
        needed = max(len(runs) + 1, estimate_runs_needed(metric.count, metric.half_pct, self.until.pct))
        due = next((planned for planned in self._looks if planned >= needed), self.most_runs)
        return max(0, due - len(runs))

    @property
    def _looks(self) -> list[int]:
        """After how many runs it looks whether the figure is sure."""
        return list_looks(max(self.runs, FEWEST_REPEATS), self.most_runs)

    def _series(self, runs: Sequence[RunSummary]) -> dict[str, Series]:
        """Every metric over the series; the one that it goes on for with an interval for having been looked at."""
        metrics = collect_series(runs)
        if self.until is not None and self.until.metric in metrics:
            metrics[self.until.metric] = widen_series(metrics[self.until.metric])
        return metrics

    def answer(self, runs: Sequence[RunSummary]) -> RepeatAnswer:
        """Each metric over the series."""
        metrics = self._series(runs)
        sure = self.until is None or is_sure(self.until, metrics.get(self.until.metric))
        return RepeatAnswer(
            workload=self.workload,
            settings=dict(self.settings),
            runs=len(runs),
            is_answered=len(runs) >= self.runs and any(run.is_valid for run in runs) and sure,
            verdicts=count_verdicts(runs),
            metrics=metrics,
            headline=(*summarize_runs(runs, metrics), *describe_sureness(self.until, metrics, runs)),
        )


def make(section: RepeatSection, context: StudyContext) -> Repeat:
    """The question about one workload."""
    most = max(section.runs, section.most_runs)
    return Repeat(context.workload.name, {}, section.runs, section.until, most)
