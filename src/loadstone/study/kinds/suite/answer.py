"""What a suite found: each cell, and how tests, tunings and numbers of cores compare. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from loadstone.judge.statistics import CONFIDENCE_LEVEL, compute_least_for_unpaired, compute_unpaired_p, correct_by_holm
from loadstone.model.service import Mechanism, Tuning
from loadstone.study.kinds.suite.cells import CellResult
from loadstone.study.kinds.suite.published import FASTER, compute_published_ratio, compute_published_tls_cost
from loadstone.study.question import Answer


@dataclass(frozen=True)
class Ratio:
    """Throughput of one cell by that of another."""

    over: CellResult
    under: CellResult
    published: float | None = None

    @property
    def value(self) -> float | None:
        """None where one of them is not the server's."""
        above, below = self.over.mean, self.under.mean
        return above / below if above and below and self.over.is_sound and self.under.is_sound else None

    @property
    def runs(self) -> int:
        """Of the side that has fewer."""
        return min(len(self.over.throughput), len(self.under.throughput))


@dataclass(frozen=True)
class TuningDifference:
    """A test as tuned by the same by default."""

    ratio: Ratio
    p: float | None = None
    """Chance of such a difference where there is none, corrected for all that were tested; None for too few runs."""

    @property
    def is_found(self) -> bool:
        """Whether there is one."""
        return self.p is not None and self.p <= 1 - CONFIDENCE_LEVEL


@dataclass(frozen=True, kw_only=True)
class SuiteAnswer(Answer):
    """Every cell of one workload."""

    cells: tuple[CellResult, ...]
    wanted: int
    """Cells there are to be."""


def compute_tls_costs(cells: Sequence[CellResult]) -> Iterator[Ratio]:
    """Yields the ratios of throughput without and with TLS."""
    for over, under in _pairs(cells, lambda cell: None if cell.cell.tls else replace(cell.cell, tls=True)):
        yield Ratio(over, under, compute_published_tls_cost(over.cell.mechanism))


def compute_mechanism_ratios(cells: Sequence[CellResult]) -> Iterator[Ratio]:
    """Yields the ratios of a mechanism to a slower mechanism, for pairs that the published tests have."""
    for faster, slower in FASTER:
        for over, under in _pairs(cells, lambda cell, a=faster, b=slower: _other_mechanism(cell, a, b)):
            yield Ratio(over, under, None if over.cell.tls else compute_published_ratio(faster, slower))


def _other_mechanism(cell: CellResult, faster: Mechanism, slower: Mechanism) -> object:
    return replace(cell.cell, mechanism=slower) if cell.cell.mechanism is faster else None


def compute_efficiencies(cells: Sequence[CellResult]) -> Iterator[tuple[Ratio, float]]:
    """Throughput with more cores by that with the fewest; and that by the factor of cores."""
    fewest = min((cell.cell.cores for cell in cells), default=0)
    for over, under in _pairs(
        cells, lambda cell: replace(cell.cell, cores=fewest) if cell.cell.cores > fewest else None
    ):
        ratio = Ratio(over, under)
        if ratio.value is not None:
            yield ratio, ratio.value * fewest / over.cell.cores


def compute_tuning_differences(cells: Sequence[CellResult]) -> list[TuningDifference]:
    """Every test as tuned by the same by default; tested where each side has runs enough."""
    ratios = [Ratio(over, under) for over, under in _pairs(cells, _by_default)]
    least = compute_least_for_unpaired(len(ratios))
    tested = [ratio for ratio in ratios if ratio.value is not None and ratio.runs >= least]
    chances = correct_by_holm([compute_unpaired_p(ratio.over.throughput, ratio.under.throughput) for ratio in tested])
    by_ratio = {id(ratio): p for ratio, p in zip(tested, chances, strict=True)}
    return [TuningDifference(ratio, by_ratio.get(id(ratio))) for ratio in ratios]


def _by_default(cell: CellResult) -> object:
    return replace(cell.cell, tuning=Tuning.DEFAULT) if cell.cell.tuning is Tuning.TUNED else None


def _pairs(cells: Sequence[CellResult], counterpart: object) -> Iterator[tuple[CellResult, CellResult]]:
    """Each cell with the other that a function names, where there is one."""
    assert callable(counterpart)
    known = {cell.cell: cell for cell in cells}
    for cell in cells:
        partner = known.get(counterpart(cell))
        if partner is not None:
            yield cell, partner


def find_contradictions(cells: Sequence[CellResult]) -> Iterator[str]:
    """Yields each difference from the order of the published tests, with a possible reason."""
    for ratio in compute_mechanism_ratios(cells):
        if ratio.value is not None and ratio.value < 1:
            over, under = ratio.over.cell, ratio.under.cell
            yield (
                f"{over.service}, {over.tuning}, {over.cores} cores: {over.mechanism} gives {ratio.value:.2f} times "
                f"the throughput of {under.mechanism}, but more in the published tests. {_why(ratio)}"
            )
    for ratio in compute_tls_costs(cells):
        if ratio.value is not None and ratio.value < 1:
            cell = ratio.over.cell
            yield (
                f"{cell.service}, {cell.mechanism}, {cell.tuning}, {cell.cores} cores: TLS costs nothing "
                f"({ratio.value:.2f} times as much without it). {_why(ratio)}"
            )


def _why(ratio: Ratio) -> str:
    """As far as the runs say."""
    above, below = ratio.over, ratio.under
    idle = [result for result in (above, below) if result.cpu_share is not None and result.cpu_share < 0.85]
    if idle:
        shares = " and ".join(
            f"{100 * (result.cpu_share or 0):.0f} % of its cores ({result.cell.test})" for result in idle
        )
        return f"The server used {shares}: its CPU was not the bottleneck."
    unknown = [result for result in (above, below) if result.cpu_share is None]
    if unknown:
        return (
            "How much of its cores the server used is not known: ended programs are counted by control groups (root)."
        )
    if ratio.runs < 2:
        return "One run of each: repeat them (--rounds 4) before drawing a conclusion."
    return f"Both used their cores; bottlenecks: {above.bottleneck or 'unknown'} and {below.bottleneck or 'unknown'}."


def summarize_cells(cells: Sequence[CellResult], wanted: int) -> Iterator[str]:
    """Yields the findings of the suite, one sentence each."""
    yield f"{len(cells)} of {wanted} cells."
    bound = [cell for cell in cells if cell.is_driver_bound]
    if bound:
        named = ", ".join(cell.cell.title for cell in bound)
        yield f"The driver was the limit in {len(bound)}, which show no limit of the server: {named}."
    doubtful = [cell for cell in cells if cell.doubts and not cell.is_driver_bound]
    for cell in doubtful[:3]:
        yield f"Nothing follows from {cell.cell.title}: {'; '.join(cell.doubts)[:200]}"
    idle = [cell for cell in cells if cell.is_sound and not cell.is_full]
    if idle:
        yield f"{len(idle)} servers had CPU to spare at that many clients: their throughput is a lower bound."
    best = max((cell for cell in cells if cell.is_sound), key=lambda cell: cell.mean or 0, default=None)
    if best is not None:
        yield f"Most: {best.mean:,.0f} operations/s, {best.cell.title}, {best.clients} clients."
    yield from find_contradictions(cells)
