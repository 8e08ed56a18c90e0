"""Values that stand in CSV files."""

from pathlib import Path

import pytest

from loadstone.model.errors import StudyError, UsageError
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.run.plan import Part, Timing, make_plan
from loadstone.workloads import load

WORKLOAD = """
[workload]
name = "mine"
title = "Mine"
about = "A page."
[pacing]
kind = "think"
mean_s = 1
[limits]
good_s = 1
tolerable_s = 2
[values]
account = {{ kind = "table", file = "{file}", own = true, redraw = "session" }}
[mix]
kind = "sequence"
sequence = ["page"]
[operations.page]
path = "/of/{{account.user}}"
"""


def workload(folder: Path, table: str | bytes, file: str = "accounts.csv") -> str:
    (folder / "accounts.csv").write_bytes(table.encode() if isinstance(table, str) else table)
    (folder / "workload.toml").write_text(WORKLOAD.format(file=file))
    return str(folder)


def test_each_session_has_a_row_to_itself(tmp_path: Path) -> None:
    mine = load(workload(tmp_path, '\ufeffuser, password\r\nann,"a ""b"", c"\r\n\r\nben,d\r\n'))
    timing = Timing(PROFILES["demo"].phases)
    (value,) = make_plan([Part(mine, Population(2))], timing)["parts"][0]["workload"]["values"]
    assert value["columns"] == ["user", "password"]
    assert (value["rows"], value["own"]) == ([["ann", 'a "b", c'], ["ben", "d"]], True)
    with pytest.raises(UsageError, match="2 rows for 3 sessions"):
        make_plan([Part(mine, Population(3))], timing)


@pytest.mark.parametrize(
    ("table", "file", "problem"),
    [
        ("user\n", "accounts.csv", "no row below"),
        ("user\nann\n", "others.csv", "No such file"),
        ("user\nann\n", "../accounts.csv", "not in the workload's folder"),
        (b"user\n\xff\n", "accounts.csv", "can't decode"),
        ('user\n"ann\n', "accounts.csv", "unexpected end of data"),
        ("user\nann,1\n", "accounts.csv", "2 entries for 1 columns"),
    ],
)
def test_files_that_are_no_tables_are_named_with_what_is_wrong(
    tmp_path: Path, table: str | bytes, file: str, problem: str
) -> None:
    with pytest.raises(StudyError) as told:
        load(workload(tmp_path, table, file))
    assert any(problem in str(one) for one in told.value.problems), told.value.problems
