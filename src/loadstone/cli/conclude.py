"""What the terminal says when a run has come to its end, and what the shell is told."""

from pathlib import Path

from rich.markup import escape

from loadstone.cli import figures
from loadstone.cli.consolidation import show_common, show_doubt, show_tiles, show_workloads
from loadstone.cli.exits import BY_VERDICT, Exit
from loadstone.cli.screen import VERDICT_STYLE, out, say
from loadstone.judge.compliance import describe_obstacles
from loadstone.judge.score import DISCLAIMER, WEB_INDEX_NAME
from loadstone.model.records.manifest import Manifest, SystemKind
from loadstone.model.records.result import Result
from loadstone.model.records.status import Status
from loadstone.model.records.verdict import ResultVerdict, Verdict, WorkloadVerdict
from loadstone.report.build import Format, check_trust, render
from loadstone.store.documents import write_atomic
from loadstone.store.folder import SealState, seal_of
from loadstone.store.read import read_result
from loadstone.study.decision import decide_result


def conclude(path: Path, has_report: bool = True) -> Exit:
    """Prints the verdict of a run, writes its report and prints where it is; returns the exit code.

    Without a report, prints the result folder instead. The result is read once for all of it. Raises LoadstoneError.
    """
    seal = seal_of(path)
    result, note = check_trust(read_result(path, seal.state is SealState.INTACT), seal)
    verdict = result.verdict or ResultVerdict("")
    _show_verdicts(result, verdict)
    _show_state(result.manifest)
    for sentence in decide_result(result):
        say(sentence)
    if verdict.whole is not Verdict.PASS:
        say(f"`loadstone explain {path}` explains the broken rules.")
    if has_report:
        report = path / "report.html"
        write_atomic(report, render(result, Format.HTML, seal, note).encode("utf-8", "replace"))
        say(f"report: {report}")
    else:
        say(f"result: {path}")
    return _exit(result.manifest.status, verdict)


def _exit(status: Status, verdict: ResultVerdict) -> Exit:
    if status is Status.INTERRUPTED:
        return Exit.INTERRUPTED
    return Exit.INVALID if status is Status.FAILED else BY_VERDICT[verdict.whole]


def _show_verdicts(result: Result, verdict: ResultVerdict) -> None:
    if verdict.consolidation is not None:
        show_workloads(verdict.workloads)
        show_common(verdict.consolidation)
        if result.manifest.status is not Status.COMPLETE:
            say(f"no score: the run is {result.manifest.status}, so its tiles were not all measured")
            return
        show_tiles(verdict.consolidation)
        if verdict.whole is not Verdict.PASS:
            show_doubt(verdict.whole)
    else:
        for workload in verdict.workloads:
            _show_workload(workload, result.manifest)
            _show_figures(workload, result)
    if verdict.index is not None:
        claim = "" if verdict.index.compliant else " (from a run that is not compliant)"
        out.print(f"{WEB_INDEX_NAME}: {verdict.index.value:.1f}{claim}. {DISCLAIMER}")


def _show_workload(verdict: WorkloadVerdict, manifest: Manifest) -> None:
    style = VERDICT_STYLE[verdict.verdict]
    criteria = next(entry for entry in manifest.criteria if entry.workload == verdict.workload)
    why = describe_obstacles(criteria, verdict.verdict, verdict.not_judged, manifest.is_simulated)
    claim = "compliant" if verdict.compliant else f"not compliant: {why}"
    title = escape(f"{verdict.workload} with {criteria.load_in_words} ({claim})")
    out.print(f"[{style}]{verdict.verdict.upper():8}[/] {title}")
    for reason in verdict.reasons:
        say(f"         {reason}")
    for note in dict.fromkeys(note for iteration in verdict.iterations for note in iteration.notes):
        say(f"         note: {note}")
    if verdict.not_judged:
        out.print(f"         not judged: {', '.join(verdict.not_judged)}", style="dim")


def _show_figures(verdict: WorkloadVerdict, result: Result) -> None:
    for workload in result.workloads:
        if workload.id.label == verdict.workload:
            for line in figures.format_lines(workload):
                say(f"         {line}")
            never = figures.list_never_right(workload) if result.manifest.system.kind is SystemKind.TARGET else ()
            if never:
                remedy = "`loadstone try SITE --target URL` shows one visit, exchange by exchange."
                say(f"         never right: {', '.join(never)}. {remedy}")


def _show_state(manifest: Manifest) -> None:
    for notice in manifest.notices:
        out.print(f"[yellow]note[/]: {escape(notice)}")
    if manifest.imported is not None:
        say(f"Ran on: {manifest.target}.")
    if not manifest.was_alone:
        out.print("[yellow]not alone[/]: another measurement was running on this machine when this one started.")
    if manifest.emulated:
        names = escape(", ".join(manifest.emulated))
        out.print(f"[yellow]emulated[/] by TCG, not KVM: {names}. The figures do not show the cost of KVM.")
    if manifest.status is not Status.COMPLETE:
        out.print(f"[yellow]{manifest.status}[/]: {escape(manifest.reason)}")
