"""`answer`: a search on each setup, then runs at a load that all sustain, then failures at that load. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from loadstone.model.fault import FaultKind, PlannedFault
from loadstone.study.kind import StudyContext
from loadstone.study.kinds.answer.answer import SetupResult, TableAnswer, answer_of
from loadstone.study.kinds.answer.section import SETUPS, AnswerSection
from loadstone.study.parameters import RunSettings
from loadstone.study.question import find_first_missing, format_key, list_missing
from loadstone.study.search.answer import SearchAnswer
from loadstone.study.search.question import Search
from loadstone.study.search.section import make_search
from loadstone.study.search.shortness import compute_steady_s_for
from loadstone.study.search.spec import SEEDS_APART
from loadstone.study.summary import FAULT_METRIC, Purpose, RunRequest, RunSummary

COMMON_SHARE = 0.8
"""Share of the smallest peak at which all setups are compared, as `compare --platform` does."""
FAULT_AT, FAULT_STEADY_S = 0.3, 40.0
"""Instant of a failure as a share of the steady state, and the least length of that: a restart takes some seconds."""
QUICK_WIDTH = 0.1
"""Width of a bracket in the quick form."""
EQUAL, FAILURE = "equal", "failure"
"""What runs belong to, besides the searches."""


@dataclass(frozen=True)
class HostAnswer:
    """One workload in several setups."""

    workload: str
    setups: tuple[str, ...]
    cpus: int
    model: Search
    trials: int
    steady_s: float
    _answers: dict[tuple[str, ...], SearchAnswer] = field(default_factory=dict, compare=False)
    """Answers of searches, by name and runs: each takes some hundred repetitions."""

    def make_settings(self, name: str) -> RunSettings:
        """The settings of a setup."""
        return {**SETUPS[name].settings, "machine.cpus": self.cpus}

    def list_searches(self) -> dict[str, Search]:
        """The search of each setup that has one of its own."""
        searched = [name for name in self.setups if SETUPS[name].searched_as not in self.setups]
        return {
            name: replace(self.model, settings=self.make_settings(name), prefix=name, seed=SEEDS_APART * number)
            for number, name in enumerate(searched)
        }

    def plan_runs(self) -> list[RunRequest]:
        """The first run of the first setup; the others follow."""
        return next(iter(self.list_searches().values())).plan_runs()

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run: searches first, then equal loads, then failures."""
        searching = (search.plan_next(search.select(runs)) for search in self._open_searches(runs))
        wanted = next((request for request in searching if request is not None), None)
        return wanted or find_first_missing(self._planned(runs), runs)

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """About how many runs are left."""
        searches = self._open_searches(runs)
        searching = sum(search.estimate_left(search.select(runs)) for search in searches)
        if searching:
            return searching + len(searches) + self.trials * len(self.setups)
        return len(list_missing(self._planned(runs), runs))

    def _open_searches(self, runs: Sequence[RunSummary]) -> list[Search]:
        """The searches of setups that can be run here."""
        return [search for name, search in self.list_searches().items() if not find_obstacle(name, runs)]

    def find_common_load(self, runs: Sequence[RunSummary]) -> float | None:
        """The load of all setups; None before a peak is known. A setup without a peak bounds it where it may sustain
        loads that are too small to be judged.
        """
        searched = [(search, search.select(runs)) for search in self.list_searches().values()]
        peaks = [search.find_peak(selected) for search, selected in searched]
        known = [peak for peak in peaks if peak]
        bounds = [search.find_unjudged_bound(selected) for search, selected in searched]
        return self.model.round_load(COMMON_SHARE * min([*known, *filter(None, bounds)])) if known else None

    def _planned(self, runs: Sequence[RunSummary]) -> list[RunRequest]:
        load = self.find_common_load(runs)
        if load is None:
            return []
        needed_s = compute_steady_s_for(load, runs)
        longer: RunSettings = {"profile.steady_s": float(needed_s)} if needed_s > self.steady_s else {}
        equal = [self._request(search.prefix, load, EQUAL, 1, longer) for search in self._open_searches(runs)]
        return [*equal, *self._failures(load, runs)]

    def _failures(self, load: float, runs: Sequence[RunSummary]) -> Iterator[RunRequest]:
        steady_s = max(self.steady_s, FAULT_STEADY_S)
        settings: RunSettings = {"profile.steady_s": steady_s}
        for trial in range(1, self.trials + 1):
            planned = PlannedFault(FaultKind.KILL_PRIMARY, round(steady_s * FAULT_AT + trial - 1, 2))
            for name in self.setups:
                if not find_obstacle(SETUPS[name].searched_as or name, runs):
                    yield self._request(name, load, FAILURE, trial, {**settings, FAULT_METRIC: planned})

    def _request(self, name: str, load: float, part: str, number: int, further: RunSettings) -> RunRequest:
        value = self.model.make_value(load)
        settings = {**self.make_settings(name), self.model.load: value, **further}
        key = f"{part}-{format_key(number, self.workload, f'{name}-{self.model.format_load(load)}')}"
        seed = SEEDS_APART * (len(SETUPS) + [EQUAL, FAILURE].index(part)) + number
        return RunRequest(key, self.workload, settings, seed, Purpose.MEASURE, search=write_tag(name, part))

    def answer(self, runs: Sequence[RunSummary]) -> TableAnswer:
        """The table, as far as it is known."""
        answers = {name: self._search_answer(search, runs) for name, search in self.list_searches().items()}
        results = tuple(self._result(name, answers, runs) for name in self.setups)
        is_over = self.plan_next(runs) is None
        return answer_of(self.model, results, self.find_common_load(runs), is_over)

    def _search_answer(self, search: Search, runs: Sequence[RunSummary]) -> SearchAnswer:
        selected = search.select(runs)
        key = (search.prefix, *(run.request.key for run in selected))
        if key not in self._answers:
            self._answers[key] = search.answer(selected)
        return self._answers[key]

    def _result(self, name: str, answers: Mapping[str, SearchAnswer], runs: Sequence[RunSummary]) -> SetupResult:
        searched = name if name in answers else SETUPS[name].searched_as
        return SetupResult(
            name=name,
            about=SETUPS[name].about,
            search=answers[searched],
            searched_as="" if searched == name else searched,
            obstacle=find_obstacle(searched, runs),
            equal=tuple(select(searched, EQUAL, runs)),
            failures=tuple(select(name, FAILURE, runs)),
        )


def write_tag(name: str, part: str) -> str:
    """Names what runs of a setup belong to that are no search."""
    return f"{name}-{part}"


def select(name: str, part: str, runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Runs of a part of a setup."""
    return [run for run in runs if run.request.search == write_tag(name, part)]


def find_obstacle(name: str, runs: Sequence[RunSummary]) -> str:
    """Why a setup cannot be run at all: a run of its search could not be made. Empty otherwise."""
    broken = (run for run in runs if run.request.search == name and not run.was_made)
    return next((run.reasons[0] for run in broken if run.reasons), "")


def make(section: AnswerSection, context: StudyContext) -> HostAnswer:
    """The question about one workload."""
    search = make_search(section, context.workload.name, context.profile)
    if section.width_pct is None and section.is_quick:
        search = replace(search, width=QUICK_WIDTH)
    steady_s = context.profile.phases.steady_s
    return HostAnswer(context.workload.name, section.setups, section.cpus, search, section.trials, steady_s)
