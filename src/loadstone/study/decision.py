"""The last sentence of a run, for a decision: what the system holds, what limits it, and what to plan with. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from loadstone.model.machine import PROCESS
from loadstone.model.records.check import Check, CheckId
from loadstone.model.records.result import Result
from loadstone.model.records.status import Status
from loadstone.model.records.verdict import TilesVerdict, Verdict
from loadstone.study.bottleneck import NO_BOTTLENECK, RESOURCES, find_bottleneck
from loadstone.study.summary import RunRequest, RunSummary, summarize

PLANNED_SHARE = 0.8
"""Share of a system's CPU that operators plan with; the rest is for peaks of the load and for failures."""
SENTENCE_NAMES = {PROCESS: "plain processes"}
"""Platforms that are called otherwise in sentences."""


def write_system(workload: str, platform: str) -> tuple[str, str]:
    """Returns subject and place of a decision: `this host`, ` of support on vm`; others without a platform."""
    return (
        ("this host", f" of {workload} on {SENTENCE_NAMES.get(platform, platform)}") if platform else ("the system", "")
    )


def decide_result(result: Result) -> tuple[str, ...]:
    """Returns the sentence for tiles, or for each workload; nothing of results that were imported, interrupted, or not
    judged, and of several workloads at once, which share what they use.
    """
    manifest, verdict = result.manifest, result.verdict
    is_measured = manifest.status is Status.COMPLETE and manifest.imported is None
    if verdict is None or not is_measured:
        return ()
    if verdict.consolidation is not None:
        sentences = [decide_tiles(verdict.consolidation, verdict.whole)]
    elif manifest.together and len(result.workloads) > 1:
        sentences = []
    else:
        sentences = [decide_run(run) for run in _summarize_each(result)]
    return tuple(filter(None, sentences))


def _summarize_each(result: Result) -> Iterator[RunSummary]:
    assert result.verdict is not None, "a decision follows a verdict"
    for workload in result.workloads:
        if result.verdict.find_workload(workload.id.label) is not None:
            request = RunRequest(result.manifest.name, workload.id.label, {}, 0)
            yield summarize(request, replace(result, workloads=(workload,)))


def decide_run(run: RunSummary) -> str:
    """Returns the sentence for a single run, which knows one load alone; empty for an invalid run."""
    if not run.is_valid:
        return ""
    system, place = write_system(run.request.workload, run.platform)
    if not run.passed:
        return f"Decision: {system} does not hold {run.load}{place}{_limit(run)}. Use a smaller load."
    return f"Decision: {system} holds {run.load}{place}{_limit(run)}. {_advise(run)}"


def _limit(run: RunSummary) -> str:
    full = find_bottleneck(run)
    return f", limited by {full}" if full is not None and full.name != NO_BOTTLENECK else ""


def _advise(run: RunSummary) -> str:
    """Says how much of the system's resource the load leaves free, and that a search finds the limit."""
    search = f"`loadstone search {run.request.workload}` finds the largest load"
    known = ((resource.of_system, resource.compute_share(run)) for resource in RESOURCES if resource.of_system)
    for name, share in known:
        if share is not None and share > PLANNED_SHARE:
            return f"{100 * share:.0f} % of its {name} {be(name)} used: plan with a smaller load. {search}."
        if share is not None:
            return f"{100 * share:.0f} % of its {name} {be(name)} used; {search}."
    return f"Its CPU was not watched; {search}."


def decide_tiles(verdict: TilesVerdict, outcome: Verdict) -> str:
    """Returns the sentence for a run of tiles; empty for an invalid one."""
    if outcome is Verdict.INVALID:
        return ""
    count = len(verdict.tiles)
    last = verdict.tiles[-1].pct_load
    tiles = f"{count} tile{'s' * (count != 1)}" + (f", the last at {last:g} % of its load" if last != 100 else "")
    if outcome is Verdict.FAIL:
        return f"Decision: this host does not hold {tiles}{_host_limit(verdict)}. Use fewer tiles, or a fraction."
    return (
        f"Decision: this host holds {tiles} (score {verdict.score:g}){_host_limit(verdict)}. {_advise_tiles(verdict)}"
    )


def _busy(verdict: TilesVerdict) -> Check | None:
    return next((check for check in verdict.checks if check.id is CheckId.HOST_BUSY), None)


def _host_limit(verdict: TilesVerdict) -> str:
    busy = _busy(verdict)
    is_full = busy is not None and busy.figure > 100 * PLANNED_SHARE
    return f", limited by the host's CPU ({busy.figure:.0f} % used)" if busy is not None and is_full else ""


def _advise_tiles(verdict: TilesVerdict) -> str:
    busy, search = _busy(verdict), "`loadstone tiles search` finds the largest number of tiles"
    if busy is None:
        return f"Its CPU was not watched; {search}."
    share = busy.figure / 100
    if share > PLANNED_SHARE:
        return f"Keep its CPU below {100 * PLANNED_SHARE:.0f} %: plan with fewer tiles. {search}."
    return f"{busy.figure:.0f} % of its CPU is used, drivers included; {search}."


def be(name: str) -> str:
    """Returns the verb that follows a resource's name."""
    return "are" if name.endswith("s") else "is"
