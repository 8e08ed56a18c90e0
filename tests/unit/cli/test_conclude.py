"""What the terminal says of a run that has ended."""

import tarfile
from pathlib import Path

import pytest

from loadstone.cli.conclude import conclude
from loadstone.cli.exits import Exit
from tests.places import DATA


def test_the_score_of_tiles_does_not_count_where_a_workload_is_invalid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tarfile.open(DATA / "schema-1.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    assert conclude(tmp_path / "tile", has_report=False) is Exit.INVALID
    output = " ".join(capsys.readouterr().out.split())
    assert "89.13 @ 6 machines" in output
    assert "invalid: the score does not count, because the run did not pass." in output
