"""What `answer` answers: a table of figures, each with a value or a reason, and a sentence for a decision. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from loadstone.model.numbers import MIB_PER_BYTE, format_number
from loadstone.study.failure import Failure
from loadstone.study.question import Answer
from loadstone.study.search.answer import LimitedBy, SearchAnswer
from loadstone.study.search.spec import SearchSpec
from loadstone.study.summary import RunSummary

NO_METER = "no power meter; --power server=rapl reads one"
UNMEASURED = "not measured"
NO_LEDGER = "the workload keeps no ledger of transactions"
NOTHING_BEFORE = "too few operations before the failure"
NOT_SERVED = "not served again"
LOWER_BOUND = "a peak is a lower bound"
NOT_WATCHED = "not watched on this platform"
NO_PEAK = "No setup has a peak, so nothing is compared. The reasons are above."


@dataclass(frozen=True)
class AnswerCell:
    """A figure with its text, or the reason why there is none."""

    value: float | None = None
    text: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return self.text or self.reason


@dataclass(frozen=True)
class AnswerRow:
    """One figure of all setups."""

    title: str
    unit: str
    cells: tuple[AnswerCell, ...]


@dataclass(frozen=True, kw_only=True)
class TableAnswer(Answer):
    """The table, and each setup's search."""

    setups: tuple[str, ...]
    load: str
    common_load: float | None
    """Load at which setups are compared; None before a peak is known."""
    rows: tuple[AnswerRow, ...]
    searches: dict[str, SearchAnswer] = field(default_factory=dict)
    """By setup, of those that have one of their own."""

    @property
    def is_negative(self) -> bool:
        """Whether no setup passes at any load."""
        return bool(self.searches) and all(search.peak is None for search in self.searches.values())


@dataclass(frozen=True, kw_only=True)
class SetupResult:
    """What was measured of a setup."""

    name: str
    about: str
    search: SearchAnswer
    searched_as: str
    """Setup whose search and load it shares; empty for its own."""
    obstacle: str
    """Why it cannot be run; empty where it can."""
    equal: tuple[RunSummary, ...]
    failures: tuple[RunSummary, ...]

    @property
    def is_bounded(self) -> bool:
        """Whether the system limits the peak, not the driver and not the largest load to try."""
        return self.search.limit is LimitedBy.RULE

    @property
    def known_failures(self) -> list[Failure]:
        """Failures whose cost is known."""
        return [run.failure for run in self.failures if run.failure is not None and not run.is_driver_bound]


def answer_of(
    search: SearchSpec, results: Sequence[SetupResult], common_load: float | None, is_over: bool
) -> TableAnswer:
    """Returns the table of all setups, with its sentences. `is_over`: no run is left."""
    native = next((result for result in results if result.name == "native"), None)
    suffix = "" if common_load is None else f" at {search.format_load(common_load)} {search.unit}"
    rows = [
        AnswerRow("peak", search.unit, tuple(_peak(search, result) for result in results)),
        AnswerRow("peak by the native one", "", tuple(_ratio(result, native) for result in results)),
        *(
            AnswerRow(f"{title}{suffix}", unit, tuple(read(result) for result in results))
            for title, unit, read in EQUAL_ROWS
        ),
        *(AnswerRow(title, unit, tuple(read(result) for result in results)) for title, unit, read in FAILURE_ROWS),
    ]
    return TableAnswer(
        workload=search.workload,
        is_answered=is_over and any(result.search.peak is not None for result in results),
        headline=tuple(_headline(search, results, common_load, is_over)),
        setups=tuple(result.name for result in results),
        load=search.load,
        common_load=common_load,
        rows=tuple(rows),
        searches={result.name: result.search for result in results if not result.searched_as},
    )


def _peak(search: SearchSpec, result: SetupResult) -> AnswerCell:
    peak, span = result.search.peak, result.search.interval
    if result.obstacle:
        return AnswerCell(reason=result.obstacle)
    if peak is None:
        return AnswerCell(reason=result.search.headline[0] if result.search.headline else UNMEASURED)
    least = "" if result.is_bounded else "at least "
    shared = f" (as {result.searched_as})" if result.searched_as else ""
    low_high = f" ({' to '.join(map(search.format_load, span))})" if span and not shared else ""
    return AnswerCell(peak, f"{least}{search.format_load(peak)}{low_high if result.is_bounded else ''}{shared}")


def _ratio(result: SetupResult, native: SetupResult | None) -> AnswerCell:
    peak, native_peak = result.search.peak, None if native is None else native.search.peak
    if native is None or native_peak is None:
        return AnswerCell(reason="no native peak")
    if peak is None or result.obstacle:
        return AnswerCell(reason="no peak")
    if not (result.is_bounded and native.is_bounded):
        return AnswerCell(reason=LOWER_BOUND)
    return AnswerCell(peak / native_peak, format_number(peak / native_peak, 2))


CellReader = Callable[[SetupResult], AnswerCell]


def _metric(name: str, factor: float, digits: int, why: str = NOT_WATCHED) -> CellReader:
    return _mean(lambda run: run.metrics.get(name), factor, digits, why)


def _mean(read: Callable[[RunSummary], float | None], factor: float, digits: int, why: str) -> CellReader:
    """Reads the mean over the runs at the common load that are fit to be judged."""

    def cell(result: SetupResult) -> AnswerCell:
        if result.obstacle or not result.equal:
            return AnswerCell(reason=UNMEASURED)
        valid = [run for run in result.equal if run.is_valid]
        if not valid:
            reasons = next((run.reasons for run in result.equal if run.reasons), ())
            return AnswerCell(reason=f"invalid run: {_shorten(reasons[0])}" if reasons else "invalid run")
        values = [value for run in valid if (value := read(run)) is not None]
        if not values:
            return AnswerCell(reason=why)
        value = factor * fmean(values)
        return AnswerCell(value, format_number(value, digits))

    return cell


def _shorten(reason: str) -> str:
    """Returns a reason without its iteration: each run has one."""
    return reason.removeprefix("iteration 1: ")


def _memory(run: RunSummary) -> float | None:
    return run.monitors.get("process.resident_bytes") or run.monitors.get("outside.resident_bytes")


def _response(run: RunSummary) -> float | None:
    return run.metrics.get("response_p90")


EQUAL_ROWS: tuple[tuple[str, str, CellReader], ...] = (
    ("response time, 90th percentile,", "ms", _mean(_response, 1000.0, 1, "too few samples")),
    ("response time, mean,", "ms", _metric("response_mean", 1000.0, 1, "no response")),
    ("CPU time of an operation", "ms", _metric("server_cpu_per_operation", 1000.0, 3)),
    ("CPU of the system", "cores", _metric("server_cpu", 1.0, 2)),
    ("memory of the system", "MiB", _mean(_memory, MIB_PER_BYTE, 0, NOT_WATCHED)),
    ("power", "W", _mean(lambda run: run.watts, 1.0, 1, NO_METER)),
)
"""Figures at the load that all setups are given."""


def _of_failures(read: Callable[[Failure], float | None], digits: int, why: str) -> CellReader:
    """Reads the median over failures; a failure without the figure leaves the reason."""

    def cell(result: SetupResult) -> AnswerCell:
        if result.obstacle or not result.failures:
            return AnswerCell(reason=UNMEASURED)
        refused = next((failure.refused for failure in result.known_failures if failure.refused), "")
        if refused:
            return AnswerCell(reason=refused)
        if not result.known_failures:
            reasons = next((run.reasons for run in result.failures if run.reasons), ())
            return AnswerCell(reason=_shorten(reasons[0]) if reasons else NOTHING_BEFORE)
        values = [read(failure) for failure in result.known_failures]
        known = [value for value in values if value is not None]
        if len(known) < len(values) or not known:
            return AnswerCell(reason=why)
        return AnswerCell(median(known), format_number(median(known), digits))

    return cell


def _lost(failure: Failure) -> float | None:
    return None if failure.ledgers is None else float(failure.ledgers.lost)


def _repeated(failure: Failure) -> float | None:
    return None if failure.ledgers is None else float(failure.ledgers.repeated)


def _failed(failure: Failure) -> float | None:
    return None if failure.outage is None else float(failure.outage.failed + failure.outage.failed_later)


def _silence(failure: Failure) -> float | None:
    return None if failure.outage is None else failure.outage.silence_s


FAILURE_ROWS: tuple[tuple[str, str, CellReader], ...] = (
    ("after a failure: longest time without a good response", "s", _of_failures(_silence, 2, NOT_SERVED)),
    ("after a failure: failed operations", "", _of_failures(_failed, 0, NOTHING_BEFORE)),
    ("after a failure: lost transactions", "", _of_failures(_lost, 0, NO_LEDGER)),
    ("after a failure: repeated transactions", "", _of_failures(_repeated, 0, NO_LEDGER)),
)
"""What a kill of the machine's process cost, as users saw it: the median over failures."""


def _headline(
    search: SearchSpec, results: Sequence[SetupResult], common_load: float | None, is_over: bool
) -> Iterator[str]:
    for result in results:
        if result.obstacle:
            yield f"{result.name}: not measured. {result.obstacle}"
        elif result.search.peak is None and not result.searched_as:
            yield f"{result.name}: {result.search.headline[0] if result.search.headline else 'no peak yet.'}"
    if not is_over:
        yield "The answer is not complete yet."
    elif any(result.search.peak is not None for result in results):
        yield from _decide(search, results, common_load)
    else:
        yield NO_PEAK


def _decide(search: SearchSpec, results: Sequence[SetupResult], common_load: float | None) -> Iterator[str]:
    """Yields the decision on the setup with the largest peak, then what the others hold and what a failure costs."""
    with_peak = [result for result in results if result.search.peak is not None and not result.searched_as]
    for result in with_peak:
        cells = {title: read(result) for title, _, read in FAILURE_ROWS}
        silence, lost = (list(cells.values())[index] for index in (0, 2))
        peak = _peak(search, result)
        failure = (
            f"After a failure at {search.format_load(common_load or 0)} {search.unit}: {_cost_in_words(silence, lost)}."
        )
        yield f"{result.name}: {peak.text} {search.unit}. {failure}"
    best = max(with_peak, key=lambda result: result.search.peak or 0.0)
    yield from (line for line in best.search.headline if line.startswith("Decision: "))


def _cost_in_words(silence: AnswerCell, lost: AnswerCell) -> str:
    """Returns outage and losses; a common reason for neither is given once."""
    if silence.reason and silence.reason == lost.reason:
        return f"outage and losses unknown ({silence.reason})"
    return f"{_silence_in_words(silence)}; {_lost_in_words(lost)}"


def _silence_in_words(cell: AnswerCell) -> str:
    if cell.value is not None:
        return f"users had no good response for {cell.text} s at most"
    return f"outage unknown ({cell.reason})" if cell.reason != NOT_SERVED else "users are not served again"


def _lost_in_words(cell: AnswerCell) -> str:
    return f"losses unknown ({cell.reason})" if cell.value is None else f"{cell.text} acknowledged transactions lost"
