"""Pipes and devices that are given as documents: refused at once, by every reader of users' files."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from loadstone.fleet.inventory import read_fleet
from loadstone.measure.power import Replay
from loadstone.model.errors import LoadstoneError
from loadstone.model.load import read_trace
from loadstone.run.tiles.table import read_systems
from loadstone.store.published import read_published
from loadstone.workloads import load
from loadstone.workloads.importers import har_file, openapi

READERS: dict[str, Callable[[Path], object]] = {
    "HAR": har_file.read,
    "OpenAPI": openapi._read,
    "trace": read_trace,
    "tiles": read_systems,
    "published": read_published,
    "power": Replay.read,
    "fleet": read_fleet,
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_or_a_device_is_refused_at_once(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), Path("/dev/null"), tmp_path):
        with pytest.raises(LoadstoneError, match="not an ordinary file"):
            READERS[name](path)


def test_a_pipe_in_a_workload_of_a_stranger_is_refused(tmp_path: Path) -> None:
    static = (Path(load("static").folder) / "workload.toml").read_text().replace('name = "static"', 'name = "own"')
    (tmp_path / "workload.toml").write_text(f'{static}\n[values]\nrow = {{ kind = "table", file = "rows.csv" }}\n')
    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(LoadstoneError, match="not an ordinary file"):
        load(str(tmp_path))
    (tmp_path / "workload.toml").unlink()
    os.mkfifo(tmp_path / "workload.toml")
    with pytest.raises(LoadstoneError, match="contains no workload"):
        load(str(tmp_path))
