"""Scores of several systems beside each other, measured here or printed elsewhere. Pure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from loadstone.judge import consolidation as tiles
from loadstone.judge import score as web
from loadstone.judge.audits import PrintedFigure, audit_tile
from loadstone.judge.printed_tiles import audit_entries
from loadstone.judge.tiles import StoredTile, get_maxima, record_score
from loadstone.model.errors import UsageError
from loadstone.model.records.result import Result
from loadstone.model.records.verdict import TilesScore, TilesVerdict, Verdict


@dataclass(frozen=True)
class SystemScore:
    """A system's score, with what it takes to believe it."""

    name: str
    kind: str
    """Name of the score; scores of different kinds are never set in relation."""
    score: float
    size: str
    """Load at which it was reached, as `72 machines`."""
    qos_pct: float | None = None
    least_qos_pct: float | None = None
    """Of the worst tile."""
    score_error: float | None = None
    """Standard error of the score by chance alone; None where the measured window is not known."""
    verdict: Verdict | None = None
    """None for a printed score, which was not judged here."""
    audits: tuple[PrintedFigure, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether the score may be set in relation to others: its run passed, or it was printed elsewhere."""
        return self.verdict in (None, Verdict.PASS)

    @property
    def broken_audits(self) -> tuple[PrintedFigure, ...]:
        """Printed figures that do not follow from the others."""
        return tuple(audit for audit in self.audits if not audit.agrees)


@dataclass(frozen=True)
class RankedSystem:
    """A system beside the first one of the same kind of score."""

    system: SystemScore
    ratio: float | None
    """Its score divided by the first one's; None where one of both does not count."""
    ratio_error: float | None = None
    """Standard error of the ratio by chance alone; None where one of both is not known."""


def score_printed(name: str, stored: Sequence[StoredTile], maxima: tiles.Maxima) -> SystemScore:
    """Scores the tiles of a printed table and audits its rows."""
    scored = tiles.score_tiles([tile.tile for tile in stored], maxima)
    score = record_score(stored, scored, maxima)
    audits = tuple(audit for tile in stored for audit in audit_tile(tile.number, tile.groups, tile.tile, maxima))
    return replace(_score_tiles(name, score), audits=audits)


def score_result(name: str, result: Result) -> SystemScore:
    """Takes the score of a judged result; raises UsageError for a result without a score."""
    verdict = result.verdict
    if verdict is not None and verdict.consolidation is not None:
        score = _take_sealed(name, verdict.consolidation, verdict.whole)
        return score if result.manifest.imported is None else _as_printed(score, result)
    if verdict is not None and verdict.index is not None:
        loads = ", ".join(f"{workload.id.label} {workload.criteria.load_in_words}" for workload in result.workloads)
        return SystemScore(name, web.WEB_INDEX_NAME, verdict.index.value, loads, verdict=verdict.whole)
    raise UsageError(
        f"{name} has no score. A score needs a run of tiles, or a run in which banking, shopping and support pass."
    )


def _take_sealed(name: str, sealed: TilesVerdict, verdict: Verdict) -> SystemScore:
    """Returns the score of a run of tiles as it was judged and sealed."""
    return replace(_score_tiles(name, sealed), score_error=sealed.score_error, verdict=verdict)


def _as_printed(score: SystemScore, result: Result) -> SystemScore:
    """Returns the score of an imported table, which was not measured here, with its audits."""
    verdict = None if score.verdict is Verdict.PASS else score.verdict
    return replace(score, verdict=verdict, audits=audit_entries(result.manifest.tiles, get_maxima(result)))


def _score_tiles(name: str, score: TilesScore) -> SystemScore:
    """Returns the score of tiles, without a verdict."""
    app, web_rate, mail = (f"{value:.2f}" for value in (score.maxima.app, score.maxima.web, score.maxima.mail))
    return SystemScore(
        name=name,
        kind=f"{tiles.CONSOLIDATION_SCORE_NAME} (maxima: app {app}, web {web_rate}, mail {mail} /s)",
        score=score.score,
        size=f"{tiles.MACHINES_PER_TILE * len(score.tiles)} machines",
        qos_pct=score.qos_pct,
        least_qos_pct=score.least_qos_pct,
    )


def rank_systems(systems: Sequence[SystemScore]) -> Iterator[RankedSystem]:
    """Yields the systems by kind of score, in the order given, each set in relation to the first one of its kind."""
    kinds = list(dict.fromkeys(system.kind for system in systems))
    ordered = sorted(systems, key=lambda system: kinds.index(system.kind))
    for _, group in groupby(ordered, key=lambda system: system.kind):
        first, *others = group
        yield RankedSystem(first, None)
        for system in others:
            yield _relate(system, first)


def _relate(system: SystemScore, first: SystemScore) -> RankedSystem:
    if not (system.counts and first.counts and first.score > 0 and system.score > 0):
        return RankedSystem(system, None)
    ratio = system.score / first.score
    if system.score_error is None or first.score_error is None:
        return RankedSystem(system, ratio)
    parts = (system.score_error / system.score, first.score_error / first.score)
    return RankedSystem(system, ratio, ratio * math.hypot(*parts))
