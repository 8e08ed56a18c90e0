"""How tiles, their score and their quality are shown at the terminal."""

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from loadstone.cli.screen import VERDICT_STYLE, out
from loadstone.judge.consolidation import NAME, Consolidation, Maxima, Tile
from loadstone.judge.score import DISCLAIMER

Json = dict[str, Any]

COLUMNS = ("tile", "load", "app/s", "web/s", "mail/s", "score", "app", "web", "mail", "idle", "QoS")


def show_tiles(
    numbers: Sequence[int], loads: Sequence[float], tiles: Sequence[Tile], scored: Consolidation, maxima: Maxima
) -> None:
    """A table of rates, scores and shares of good operations, and the overall figures."""
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    for number, load, tile, one in zip(numbers, loads, tiles, scored.tiles, strict=True):
        rates = [f"{rate:.2f}" for rate in (tile.app, tile.web, tile.mail)]
        shares = [f"{share:.2f}" for share in tile.qualities]
        table.add_row(str(number), f"{load:g}%", *rates, str(one.shown), *shares, str(one.shown_qos))
    out.print(table)
    out.print(f"{NAME}: [bold]{scored.headline}[/]")
    out.print(f"quality of service {scored.qos_pct} %, worst tile {scored.least_qos_pct} %", style="dim")
    out.print(f"maxima: app {maxima.app}, web {maxima.web}, mail {maxima.mail} /s", style="dim")
    out.print(DISCLAIMER, style="dim", soft_wrap=True)


def show_workloads(verdicts: Sequence[Json]) -> None:
    """One line for all workloads that pass, and the reasons of those that do not."""
    passed = [one["workload"] for one in verdicts if one["verdict"] == "pass"]
    compliant = all(one["compliant"] for one in verdicts)
    if passed:
        claim = "" if compliant else " (not compliant: the window is shorter than the rules ask)"
        out.print(f"[{VERDICT_STYLE['pass']}]PASS    [/] {', '.join(passed)}{claim}", soft_wrap=True)
    skipped = dict.fromkeys(rule for one in verdicts for rule in one["not_judged"])
    if skipped:
        out.print(f"         not judged everywhere: {', '.join(skipped)}", style="dim", soft_wrap=True)
    for one in verdicts:
        if one["verdict"] == "pass":
            continue
        out.print(f"[{VERDICT_STYLE[one['verdict']]}]{one['verdict'].upper():8}[/] {one['workload']}")
        for reason in one["reasons"]:
            out.print(f"         {reason}", markup=False, soft_wrap=True)


def show_common(consolidation: Json) -> None:
    """What broke the rules that all workloads share, and groups of tiles that did worse."""
    if consolidation["verdict"] != "pass":
        out.print(
            f"[{VERDICT_STYLE[consolidation['verdict']]}]{consolidation['verdict'].upper():8}[/] the run as a whole"
        )
        for reason in consolidation["reasons"]:
            out.print(f"         {reason}", markup=False, soft_wrap=True)
    out.print(f"scatter of the score by chance alone: {consolidation['score_error']:.1f}", style="dim")
    for row in consolidation.get("power", []):
        if row["score_per_w"] is not None:
            idle = "" if row["idle_w"] is None else f", {row['idle_w']:.1f} W in active idle"
            text = f"{row['category']}: {row['score_per_w']:.3f} ({row['loaded_w']:.1f} W loaded{idle})"
            out.print(f"power    {text}", markup=False, soft_wrap=True)
    for grouping in consolidation["placement"]:
        for one in grouping["findings"]:
            if one["is_worse"]:
                figure, p = one["figure"]["name"], one["p"]
                text = f"by {grouping['by']}, `{one['group']}` did worse in {figure} (p = {p:.4f})"
                out.print(f"[yellow]placement[/] {text}", soft_wrap=True)
