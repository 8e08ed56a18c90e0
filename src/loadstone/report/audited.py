"""Audits of printed tables as blocks: how many figures follow from others, and those that do not."""

from collections.abc import Iterator, Mapping, Sequence

from loadstone.judge.audits import PrintedFigure
from loadstone.page.blocks import Block, Column, ColumnKind, Heading, Paragraph, Row, Table


def list_audits(audits_by_system: Mapping[str, Sequence[PrintedFigure]]) -> Iterator[Block]:
    """Yields a sentence for each system, and a table of the figures that contradict others; nothing without audits."""
    audited = {system: audits for system, audits in audits_by_system.items() if audits}
    if not audited:
        return
    yield Heading("Audits of printed tables", 2)
    for system, audits in audited.items():
        agreeing = sum(audit.agrees for audit in audits)
        yield Paragraph(f"{system}: {agreeing} of {len(audits)} printed figures follow from others.")
    broken = [(system, audit) for system, audits in audited.items() for audit in audits if not audit.agrees]
    if broken:
        columns = [Column(title, ColumnKind.TEXT) for title in ("system", "tile", "figure", "relation")]
        rows = [_row(system, audit) for system, audit in broken]
        yield Table([*columns, Column("printed"), Column("computed")], rows)


def _row(system: str, audit: PrintedFigure) -> Row:
    relation = audit.relation
    texts = [system, str(audit.tile), relation.column, relation.text]
    return Row([*texts, str(audit.printed), f"{audit.computed:.4f}"])
