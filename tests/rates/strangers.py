"""Documents of strangers, spoiled at many places: all are read or refused with a reason."""

import shutil
import tarfile
from pathlib import Path

from tests.places import DATA
from tests.rates.contract import Rate
from tests.unit.store import test_strangers

PLACES = 200
"""Places of each document that are spoiled in a trial."""


def spoiled_documents(trial: int, folder: Path) -> None:
    """Spoils the manifest, the verdict and the seal of a result."""
    for name in test_strangers.DOCUMENTS:
        (folder / name).mkdir()
        assert test_strangers.refusals(test_strangers.judged_result(folder / name), name, PLACES, 100 + trial)


def spoiled_answers(trial: int, folder: Path) -> None:
    """Spoils the answer of a study of each kind."""
    with tarfile.open(DATA / "schema-1.tar.xz") as archive:
        archive.extractall(folder / "before", filter="data")
    for name in test_strangers.ANSWERS:
        path = folder / name / name
        shutil.copytree(folder / "before" / name, path)
        assert test_strangers.refused_answers(path, PLACES, 100 + trial)


RATES = (
    Rate("spoiled-documents", f"A result is read or refused, {PLACES} places a document", 5, spoiled_documents),
    Rate("spoiled-answers", f"A study is read or refused, {PLACES} places an answer", 5, spoiled_answers),
)
