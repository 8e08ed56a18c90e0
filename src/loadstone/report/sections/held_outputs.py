"""Of a result: for how long fault-tolerant pairs held what their machines sent."""

from collections.abc import Iterator
from typing import Any

from loadstone.model.records.manifest import HELD_CURVE, MachineFacts
from loadstone.page.blocks import Block, Figure, Gallery
from loadstone.page.plot import PercentilePlot
from loadstone.report.section import ReportContext, ReportSection

HELD_OUTPUTS_CAPTION = (
    "Delay of outputs: data that a pair sends, or writes to a shared disk, waits until the other side has received "
    "the log before it. The figures are of the side that was active last, while the other side followed."
)


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """A picture for all pairs that sent anything."""
    machines = context.result.manifest.machines
    rows = [row for name, facts in machines.items() for row in _curve(name, facts)]
    if rows and context.has_pictures:
        yield Gallery([Figure("Held outputs", HELD_OUTPUTS_CAPTION, PercentilePlot(rows, "outputs"))])


def _curve(name: str, facts: MachineFacts) -> Iterator[dict[str, object]]:
    curve: Any = facts.facts.get(HELD_CURVE, [])
    beyond = 1.0
    for held_ms, share in curve:
        beyond = 1 - share if share < 1 else beyond / 2
        yield {"beyond": beyond, "value": held_ms / 1e3, "series": name}


SECTION = ReportSection(rank=65, of_result=render_blocks)
