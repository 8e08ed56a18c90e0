"""How tiles, their score and their quality are shown at the terminal."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from loadstone.cli.screen import VERDICT_STYLE, out, say
from loadstone.judge.consolidation import CONSOLIDATION_SCORE_NAME
from loadstone.judge.score import DISCLAIMER
from loadstone.model.numbers import format_chance
from loadstone.model.records.verdict import TilesScore, TilesVerdict, Verdict, WorkloadVerdict

TILE_COLUMNS = ("tile", "load", "app/s", "web/s", "mail/s", "score", "app", "web", "mail", "idle", "QoS")


def show_tiles(scored: TilesScore) -> None:
    """A table of rates, scores and shares of good operations, and the overall figures."""
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for name in TILE_COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for tile in scored.tiles:
        figures = (tile.app, tile.web, tile.mail, tile.score)
        shares = (tile.qos_app, tile.qos_web, tile.qos_mail, tile.qos_idle, tile.qos)
        cells = [f"{figure:.2f}" for figure in (*figures, *shares)]
        table.add_row(str(tile.number), f"{tile.pct_load:g}%", *cells)
    out.print(table)
    out.print(f"{CONSOLIDATION_SCORE_NAME}: [bold]{scored.headline}[/]")
    out.print(f"quality of service {scored.qos_pct:.2f} %, worst tile {scored.least_qos_pct:.2f} %", style="dim")
    maxima = scored.maxima
    out.print(f"maxima: app {maxima.app:.2f}, web {maxima.web:.2f}, mail {maxima.mail:.2f} /s", style="dim")
    out.print(DISCLAIMER, style="dim", soft_wrap=True)


def show_doubt(outcome: Verdict, remedy: str = "") -> None:
    """Says that the score of a run which did not pass does not count."""
    why = "the score does not count, because the run did not pass."
    out.print(f"[{VERDICT_STYLE[outcome]}]{outcome}[/]: {why} {remedy}".rstrip(), soft_wrap=True)


def show_workloads(verdicts: Sequence[WorkloadVerdict]) -> None:
    """One line for all workloads that pass, and the reasons of those that do not."""
    passed = [verdict.workload for verdict in verdicts if verdict.verdict is Verdict.PASS]
    compliant = all(verdict.compliant for verdict in verdicts)
    if passed:
        claim = "" if compliant else " (not compliant: the window is shorter than the rules ask)"
        out.print(f"[{VERDICT_STYLE['pass']}]PASS    [/] {', '.join(passed)}{claim}", soft_wrap=True)
    skipped = dict.fromkeys(rule for verdict in verdicts for rule in verdict.not_judged)
    if skipped:
        out.print(f"         not judged everywhere: {', '.join(skipped)}", style="dim", soft_wrap=True)
    for verdict in verdicts:
        if verdict.verdict is not Verdict.PASS:
            _show_broken(verdict.verdict, verdict.workload, verdict.reasons)


def show_common(score: TilesVerdict) -> None:
    """Prints the broken rules that all workloads share, and the groups of tiles that did worse."""
    if score.verdict is not Verdict.PASS:
        _show_broken(score.verdict, "the run as a whole", score.reasons)
    out.print(f"scatter of the score by chance alone: {score.score_error:.1f}", style="dim")
    for row in score.power:
        if row.score_per_w is not None and row.loaded_w is not None:
            idle = "" if row.idle_w is None else f", {row.idle_w:.1f} W in active idle"
            say(f"power    {row.category}: {row.score_per_w:.3f} ({row.loaded_w:.1f} W loaded{idle})")
    for grouping in score.placement:
        for finding in grouping.findings:
            if finding.is_worse:
                chance = format_chance(finding.p, 4)
                text = f"by {grouping.by}, `{finding.group}` did worse in {finding.figure.name} ({chance})"
                out.print(f"[yellow]placement[/] {escape(text)}", soft_wrap=True)


def _show_broken(verdict: Verdict, title: str, reasons: Sequence[str]) -> None:
    out.print(f"[{VERDICT_STYLE[verdict]}]{verdict.upper():8}[/] {escape(title)}")
    for reason in reasons:
        say(f"         {reason}")
