"""Judging a result folder: its figures are read, the verdict is written beside them."""

from pathlib import Path

from loadstone import __version__
from loadstone.judge.result import judge_result
from loadstone.model.records.verdict import ResultVerdict
from loadstone.store.documents import write_document
from loadstone.store.folder import REJUDGED, SEAL, VERDICT, VERDICTS
from loadstone.store.read import read_result


def judge(path: Path) -> ResultVerdict:
    """Judges a result by the rules of this version; raises LoadstoneError.

    What is sealed stays as it is: a later judgement is a file of its own.
    """
    verdict = judge_result(read_result(path), __version__)
    name = REJUDGED if (path / SEAL).exists() else VERDICT
    write_document(path / name, VERDICTS, verdict)
    return verdict
