"""Of the result: cause and remedy of each broken rule, where the tables of rules link to."""

from collections.abc import Iterator, Sequence

from loadstone.judge.remedies import REMEDIES, format_heading
from loadstone.model.records.check import CheckId
from loadstone.model.records.verdict import ResultVerdict
from loadstone.page.blocks import Block, Heading, Paragraph
from loadstone.report.rules_table import build_anchor, find_anchor
from loadstone.report.section import ReportContext, ReportSection


def list_remedies(context: ReportContext) -> Iterator[Block]:
    """Yields an entry for each broken rule, notes included."""
    broken = _broken_rules(context.result.verdict or ResultVerdict(""))
    if broken:
        yield Heading("Causes and remedies of broken rules", 2, "remedies")
    for rule in broken:
        yield from _entry(rule)


def _broken_rules(verdict: ResultVerdict) -> Sequence[CheckId]:
    """Returns the broken rules that have an entry, each once, in the order of the verdict."""
    checks = [check for part in verdict.workloads for iteration in part.iterations for check in iteration.checks]
    checks += verdict.consolidation.checks if verdict.consolidation else ()
    return list(dict.fromkeys(check.id for check in checks if find_anchor(check)))


def _entry(rule: CheckId) -> Iterator[Block]:
    remedy = REMEDIES[rule]
    yield Heading(format_heading(rule), 3, build_anchor(rule), f"loadstone explain {rule}")
    for strong, text in (("", remedy.meaning), ("Cause:", remedy.cause), ("Remedy:", remedy.remedy)):
        yield Paragraph(text.replace("`", ""), strong=strong)


SECTION = ReportSection(rank=68, of_result=list_remedies)
