"""Tiles: the score, performance and quality tile by tile, groups that did worse, power."""

from collections.abc import Iterator, Sequence

from loadstone.judge.consolidation import CONSOLIDATION_SCORE_NAME
from loadstone.judge.score import DISCLAIMER
from loadstone.model.numbers import format_chance, format_number
from loadstone.model.records.status import Status
from loadstone.model.records.verdict import GroupingFindings, TilesVerdict, Verdict, choose_worst
from loadstone.page.blocks import Block, Card, Cards, Cell, Column, ColumnKind, Heading, Paragraph, Row, Table, Tone
from loadstone.report.section import ReportContext, ReportSection

PERFORMANCE_NOTE = (
    "A tile's score is 100 times the mean of its three rates, each rounded to two decimals and divided by its "
    "maximum. The overall score is the sum of the unrounded scores. Chance scatters the score by {error} (one standard "
    "error), so it may exceed 100 per tile."
)
QUALITY_NOTE = (
    "Shares of operations within their limits: of dealers and work orders together, of all pages and downloads, of "
    "appends and fetches, and of heartbeats. The mean hides the worst tile, so both are shown."
)
PLACEMENT_NOTE = (
    "p-values by permutation of the full tiles over the groups, corrected for all tests of a grouping together (Holm)."
)
POWER_NOTE = (
    "Loaded: the mean over the measured window. Active idle: the mean over a phase without load in which every machine "
    "answers heartbeats. The ratio is the score divided by the loaded watts."
)


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """Yields the scores of tiles, nothing for other runs and for runs that were not judged."""
    verdict = context.result.verdict
    score = verdict.consolidation if verdict else None
    if verdict is None or score is None:
        return
    is_measured = context.result.manifest.imported is None
    yield Cards([_score_card(context, score, verdict.whole), *([_workloads_card(context)] if is_measured else [])])
    yield Heading("Performance", 2, "performance")
    yield _performance(score)
    yield Paragraph(PERFORMANCE_NOTE.format(error=format_number(score.score_error, 1)), Tone.QUIET)
    yield Heading("Quality of service", 2, "quality")
    yield _quality(score)
    yield Paragraph(QUALITY_NOTE, Tone.QUIET)
    yield from _placement(score)
    yield from _power(score)


def _score_card(context: ReportContext, score: TilesVerdict, outcome: Verdict) -> Card:
    """Returns the score with the verdict on the whole run: it does not count where a workload does not pass."""
    tile, maxima = context.result.manifest.tile, score.maxima
    title = (
        CONSOLIDATION_SCORE_NAME
        if outcome is Verdict.PASS
        else f"{CONSOLIDATION_SCORE_NAME}, {outcome}: not a valid result"
    )
    quality = (
        f"quality of service {format_number(score.qos_pct, 2)} %, "
        f"worst tile {format_number(score.least_qos_pct, 2)} %; "
        f"maxima app {maxima.app}, web {maxima.web}, mail {maxima.mail} /s of tile {tile.name if tile else ''}"
    )
    status = context.result.manifest.status
    headline = score.headline if status is Status.COMPLETE else f"no score: {status}"
    return Card(Tone(outcome.value), headline, title, [quality, Cell(DISCLAIMER, Tone.QUIET), *score.reasons])


def _workloads_card(context: ReportContext) -> Card:
    manifest = context.result.manifest
    verdicts = context.result.verdict.workloads if context.result.verdict else ()
    passed = [verdict for verdict in verdicts if verdict.verdict is Verdict.PASS]
    lines: list[str | Cell] = []
    for verdict in verdicts:
        if verdict.verdict is not Verdict.PASS:
            reason = f", {verdict.reasons[0]}" if verdict.reasons else ""
            lines.append(Cell(f"{verdict.workload}: {verdict.verdict}{reason}", link=f"#{verdict.workload}"))
    claim = "" if all(verdict.compliant for verdict in verdicts) else ", not compliant"
    store = manifest.tile.file_store if manifest.tile else ""
    lines.append(Cell(f"profile {manifest.profile.name}{claim}; downloads by the {store}", Tone.QUIET))
    tone = Tone(choose_worst([verdict.verdict for verdict in verdicts]).value)
    return Card(tone, f"{len(passed)} of {len(verdicts)}", "workloads pass", lines)


def _performance(score: TilesVerdict) -> Table:
    groupings = list(score.tiles[0].groups) if score.tiles else []
    titles = ["tile", *groupings, "load, %", "app, /s", "web, /s", "mail, /s", "idle", "score"]
    rows = [
        Row(
            [
                str(tile.number),
                *(tile.groups.get(name, "") for name in groupings),
                format_number(tile.pct_load),
                *(format_number(rate, 2) for rate in (tile.app, tile.web, tile.mail)),
                Cell("n/a", Tone.QUIET),
                format_number(tile.score, 2),
            ]
        )
        for tile in score.tiles
    ]
    blank = [""] * (len(titles) - 2)
    return Table(_columns(titles), [*rows, Row(["all", *blank, format_number(score.score, 2)], is_total=True)])


def _quality(score: TilesVerdict) -> Table:
    rows = [
        Row(
            [
                str(tile.number),
                format_number(tile.pct_load),
                *(
                    format_number(share, 2)
                    for share in (tile.qos_app, tile.qos_web, tile.qos_mail, tile.qos_idle, tile.qos)
                ),
            ]
        )
        for tile in score.tiles
    ]
    totals = [("mean", score.qos_pct), ("least", score.least_qos_pct)]
    blank = [""] * 5
    rows += [Row([name, *blank, f"{format_number(value, 2)} %"], is_total=True) for name, value in totals]
    return Table(_columns(["tile", "load, %", "app", "web", "mail", "idle", "tile"]), rows)


def _columns(titles: Sequence[str]) -> list[Column]:
    return [Column(title) for title in titles]


def _placement(score: TilesVerdict) -> Iterator[Block]:
    if not score.placement:
        if score.tiles and score.tiles[0].groups:
            yield Paragraph("Groups were not tested: that needs four full tiles, two in each group.", Tone.QUIET)
        return
    yield Heading("Placement", 2, "placement")
    for grouping in score.placement:
        yield _grouping(grouping)
    yield Paragraph(PLACEMENT_NOTE, Tone.QUIET)


def _grouping(grouping: GroupingFindings) -> Paragraph:
    worse = [finding for finding in grouping.findings if finding.is_worse]
    if not worse:
        reach = f"; {grouping.reach}" if grouping.reach else ""
        return Paragraph(f"By {grouping.by}: no group was worse than chance explains{reach}.")
    sentences = "; ".join(
        f"{finding.group} tiles did worse in {finding.figure.name} "
        f"({format_number(finding.mean, 3)} against {format_number(finding.others, 3)}, "
        f"{format_chance(finding.p, 4)})"
        for finding in worse
    )
    return Paragraph(f"By {grouping.by}: {sentences}.", Tone.BROKEN)


def _power(score: TilesVerdict) -> Iterator[Block]:
    if not score.power:
        return
    yield Heading("Power", 2, "power")
    titles = ["category", "score", "watts, loaded", "watts, active idle", "score a watt"]
    rows = [
        Row(
            [
                category.category,
                format_number(score.score, 2),
                format_number(category.loaded_w, 1),
                format_number(category.idle_w, 1),
                format_number(category.score_per_w, 3),
                category.meter,
            ]
        )
        for category in score.power
    ]
    yield Table([*_columns(titles), Column("meter", ColumnKind.TEXT)], rows)
    yield Paragraph(POWER_NOTE, Tone.QUIET)


SECTION = ReportSection(rank=30, of_result=render_blocks)
