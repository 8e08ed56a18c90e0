"""`loadstone explain`: what a broken rule means, why it is broken, and what to do."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.results import RESULTS, Results, find_result
from loadstone.cli.screen import say
from loadstone.judge.remedies import REMEDIES, get_title, render_markdown_page
from loadstone.model.errors import StoreError, UsageError
from loadstone.model.reading import suggest
from loadstone.model.records.check import Check, CheckId, Weight
from loadstone.model.records.verdict import ResultVerdict
from loadstone.store.read import read_verdict
from loadstone.store.study import is_study

RuleArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[RULE|RUN]",
        help="Id of a rule, such as driver_lag, or a result or study whose broken rules are explained. "
        "Default: a list of all rules.",
    ),
]


def explain(
    name: RuleArgument = None,
    as_page: Annotated[bool, typer.Option("--page", help="Print all rules as one Markdown page.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    results: Results = RESULTS,
) -> None:
    """Explain the rules of verdicts: the comparison, the reasons for a violation, and the remedy.

    loadstone explain lists all rules.

    loadstone explain driver_lag explains this rule.

    loadstone explain latest explains the rules that the newest result or study broke.
    """
    if as_page:
        typer.echo(render_markdown_page(), nl=False)
        return
    if name is not None and name not in REMEDIES:
        _explain_result(name, results, as_json)
        return
    rules = [CheckId(name)] if name else list(REMEDIES)
    if as_json:
        texts = {rule: {"title": get_title(rule)} | asdict(REMEDIES[rule]) for rule in rules}
        typer.echo(json.dumps(texts, indent=1))
    elif name:
        say(_text(rules[0], get_title(rules[0])))
    else:
        for rule in rules:
            say(f"{rule:22}{get_title(rule)}")


def _explain_result(name: str, results: Path, as_json: bool) -> None:
    """Explains the broken rules of a stored result, each once. Raises UsageError for an unknown name."""
    folder = _find(name, results)
    if is_study(folder):
        _explain_study(folder, as_json)
        return
    broken = list_broken_rules(folder)
    if as_json:
        texts = [{"rule": str(check), "id": check.id} | asdict(REMEDIES[check.id]) for check in broken]
        typer.echo(json.dumps(texts, indent=1))
    elif not broken:
        say("No rule was broken.")
    else:
        say("\n\n".join(_text(check.id, str(check)) for check in broken))


def _find(name: str, results: Path) -> Path:
    """Folder of a result or a study. Raises UsageError where `name` is neither that nor a rule."""
    try:
        return find_result(name, results)
    except StoreError:
        if name == "latest":
            raise
        raise UsageError(f"`{name}` is neither a rule nor a result. {suggest(name, {*REMEDIES, 'latest'})}") from None


@dataclass(frozen=True)
class BrokenInRuns:
    """A rule that runs of a study broke."""

    first: Check
    runs: int
    """Runs that broke it."""

    @property
    def is_invalid(self) -> bool:
        """Whether the rule makes a run invalid."""
        return self.first.weight is Weight.INVALID


def _explain_study(folder: Path, as_json: bool) -> None:
    """Explains the rules that the runs of a study broke, each once. Raises StoreError."""
    runs = [path for path in sorted((folder / "runs").glob("*")) if path.is_dir()]
    broken = count_broken(map(list_broken_rules, runs))
    if as_json:
        texts = [
            {"rule": str(rule.first), "id": rule.first.id, "runs": rule.runs, "of": len(runs)}
            | asdict(REMEDIES[rule.first.id])
            for rule in broken
        ]
        typer.echo(json.dumps(texts, indent=1))
        return
    if not broken:
        say(f"None of the {len(runs)} runs broke a rule.")
        return
    say("\n\n".join(_text(rule.first.id, _heading(rule, len(runs))) for rule in broken))


def count_broken(runs: Iterable[Sequence[Check]]) -> list[BrokenInRuns]:
    """Rules that runs broke, each once, those that make runs invalid first, then by the number of runs."""
    by_id: dict[CheckId, BrokenInRuns] = {}
    for check in chain.from_iterable(runs):
        before = by_id.get(check.id, BrokenInRuns(check, 0))
        by_id[check.id] = replace(before, runs=before.runs + 1)
    return sorted(by_id.values(), key=lambda rule: (not rule.is_invalid, -rule.runs))


def _heading(rule: BrokenInRuns, total: int) -> str:
    return f"{rule.runs} of {total} runs broke it, the first with: {rule.first}"


def list_broken_rules(folder: Path) -> list[Check]:
    """Broken rules of a stored verdict, the first of each id, those that make it invalid first. Raises StoreError."""
    verdict = read_verdict(folder) or ResultVerdict("")
    checks = [check for part in verdict.workloads for iteration in part.iterations for check in iteration.checks]
    checks += verdict.consolidation.checks if verdict.consolidation else ()
    broken = [check for check in checks if check.is_broken and check.id in REMEDIES]
    broken.sort(key=lambda check: check.weight is not Weight.INVALID)
    return list({check.id: check for check in reversed(broken)}.values())[::-1]


def _text(rule: CheckId, heading: str) -> str:
    remedy = REMEDIES[rule]
    return "\n".join((f"{rule}: {heading}", *(f"  {line}" for line in remedy.lines)))
