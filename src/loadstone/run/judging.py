"""Judging a result folder: figures are computed from its records once, and kept with the verdict on them."""

from pathlib import Path

from loadstone import __version__
from loadstone.judge.result import judge_result
from loadstone.model.records.result import Result
from loadstone.model.records.verdict import ResultVerdict
from loadstone.store.documents import write_document
from loadstone.store.figures import write_figures
from loadstone.store.folder import VERDICTS
from loadstone.store.layout import REJUDGED, SEAL, VERDICT
from loadstone.store.read import locate_iterations, read_result


def judge(path: Path) -> ResultVerdict:
    """Judges a result by the rules of this version; raises LoadstoneError.

    What is sealed stays as it is: a later judgement is a file of its own.
    """
    is_sealed = (path / SEAL).exists()
    result = read_result(path, has_figures=False)
    verdict = judge_result(result, __version__)
    if not is_sealed:
        _keep_figures(result)
    write_document(path / (REJUDGED if is_sealed else VERDICT), VERDICTS, verdict)
    return verdict


def _keep_figures(result: Result) -> None:
    """Writes what was judged beside its records, where it is sealed with them. Raises StoreError."""
    for workload in result.workloads:
        folders = locate_iterations(result.path, workload.id.label)
        for (_, folder), iteration in zip(folders, workload.iterations, strict=True):
            write_figures(folder, iteration.figures)
