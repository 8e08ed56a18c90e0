"""The verdict on a whole result: its workloads, the web index, and of tiles the run as a whole. Pure."""

from loadstone.judge.score import REFERENCE, compute_web_index
from loadstone.judge.tiles import judge_tiles
from loadstone.judge.verdict import judge_workload
from loadstone.model.records.result import Result
from loadstone.model.records.verdict import Index, ResultVerdict, Verdict


def judge_result(result: Result, judged_by: str) -> ResultVerdict:
    """Judges a result that was read, by the rules of this version, `judged_by`."""
    verdicts = tuple(
        judge_workload(
            workload.criteria,
            [iteration.figures for iteration in workload.iterations],
            result.manifest.is_simulated,
        )
        for workload in result.workloads
    )
    sessions = {workload.id.label: workload.criteria.sessions for workload in result.workloads}
    passed = {verdict.workload for verdict in verdicts if verdict.verdict is Verdict.PASS}
    value = compute_web_index(sessions) if set(REFERENCE) <= passed else None
    return ResultVerdict(
        judged_by=judged_by,
        workloads=verdicts,
        index=None if value is None else Index(value, all(verdict.compliant for verdict in verdicts)),
        consolidation=judge_tiles(result) if result.manifest.is_of_tiles else None,
    )
