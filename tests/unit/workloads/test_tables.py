"""Values that stand in CSV files."""

import os
from pathlib import Path

import pytest

from loadstone.model.errors import StudyError, UsageError
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.workload.values import TableValues
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
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
    (value,) = make_plan([WorkloadLoad(mine, Population(2))], timing)["parts"][0]["workload"]["values"]
    assert value["columns"] == ["user", "password"]
    assert (value["rows"], value["own"]) == ([["ann", 'a "b", c'], ["ben", "d"]], True)
    with pytest.raises(UsageError, match="2 rows for 3 sessions"):
        make_plan([WorkloadLoad(mine, Population(3))], timing)


ROWS = (("user", "password"), (("ann", "a b"), ("ben", "")))


@pytest.mark.parametrize(
    "table",
    [
        "user,password\nann,a b\nben,\n,\n,\n",
        "user,password\n\n,\nann,a b\n , \nben,\n   \n\t\n",
        "\n\nuser,password\nann,a b\nben,\n",
        "user;password\nann;a b\nben;\n;\n",
        "user\tpassword\r\nann\ta b\r\nben\t\r\n",
        "user|password\nann|a b\nben|\n",
        '"user";"password"\n"ann";"a b"\n"ben";""\n',
        "sep=;\nuser;password\nann;a b\nben;\n",
        "user,password,,\nann,a b,,\nben,,,\n",
        "user,password\nann,a b,\nben,,,\n",
        '"sep=;"\r\nuser;password\r\nann;a b\r\nben;\r\n',
        "SEP=\t\nuser\tpassword\nann\ta b\nben\t\n",
        "user, password\nann, a b\nben, \n",
        'user, password\n"ann", "a b"\n"ben", ""\n',
    ],
)
def test_tables_are_read_as_spreadsheets_write_them(tmp_path: Path, table: str) -> None:
    value = load(workload(tmp_path, table)).values["account"]
    assert isinstance(value, TableValues)
    assert (value.columns, value.rows) == ROWS


@pytest.mark.parametrize(
    "value",
    [
        'kind = "table", columns = ["name"], rows = [["fine"], ["one\\r\\nX-Injected: yes"]]',
        'kind = "choice", values = ["fine", "a\\u0000b"]',
        'kind = "words", words = ["a", "b\\nc"]',
        'kind = "text", text = "x {more}"',
    ],
)
@pytest.mark.parametrize("place", ["headers", "operations", "around"])
def test_a_value_that_would_end_a_header_is_named(tmp_path: Path, value: str, place: str) -> None:
    hole = "{bad.name}" if '"table"' in value else "{bad}"
    header = f'{{ X-Name = "of {hole}" }}'
    text = WORKLOAD.replace("{{", "{").replace("}}", "}").replace("{file}", "accounts.csv")
    text = text.replace("[values]", f'[values]\nbad = {{ {value} }}\nmore = {{ kind = "choice", values = ["a\\nb"] }}')
    if place == "headers":
        text += f'[headers]\nX-Name = "of {hole}"\n'
    else:
        text += (
            f"headers = {header}\n" if place == "operations" else f'after = [{{ path = "/", headers = {header} }}]\n'
        )
    (tmp_path / "accounts.csv").write_text("user\nann\n")
    (tmp_path / "workload.toml").write_text(text)
    with pytest.raises(StudyError) as told:
        load(str(tmp_path))
    assert any("is used in the header X-Name" in str(one) for one in told.value.problems), told.value.problems


@pytest.mark.parametrize(
    ("table", "file", "problem"),
    [
        ("user,user\nann,ben\n", "accounts.csv", "the column `user` twice"),
        ("user, user\nann,ben\n", "accounts.csv", "the column `user` twice"),
        ("user,,\nann,x,\n", "accounts.csv", "column 2 has no name, but values"),
        (",\n,\n", "accounts.csv", "no row below"),
        ("user\n", "accounts.csv", "no row below"),
        ("user\nann\n", "others.csv", "No such file"),
        ("user\nann\n", "../accounts.csv", "not in the workload's folder"),
        (b"user\n\xff\n", "accounts.csv", "is not valid UTF-8 text"),
        ('user\n"ann\n', "accounts.csv", "line 2: unexpected end of data. Close each quote"),
        ('user,pin\nann,1\n"b\\"n",2\n', "accounts.csv", "line 3: ',' expected after '\"'. Close each quote"),
        (b"PK\x03\x04sheet", "accounts.csv", "is a packed file or a spreadsheet, not text"),
        ("Benutzer;Kennwört\nann;x\n", "accounts.csv", "column `Kennwört` is not a valid name in {table.column}"),
        ("user name,pin\nann,1\n", "accounts.csv", "column `user name` is not a valid name in {table.column}"),
        ("user\nann,1\n", "accounts.csv", "2 entries for 1 columns"),
    ],
)
def test_files_that_are_no_tables_are_named_with_what_is_wrong(
    tmp_path: Path, table: str | bytes, file: str, problem: str
) -> None:
    with pytest.raises(StudyError) as told:
        load(workload(tmp_path, table, file))
    assert any(problem in str(one) for one in told.value.problems), told.value.problems


def test_line_breaks_of_values_stay_as_they_are(tmp_path: Path) -> None:
    value = load(workload(tmp_path, 'user,text\r\nann,"two\r\nlines"\r\n')).values["account"]
    assert isinstance(value, TableValues)
    assert value.rows == (("ann", "two\r\nlines"),)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    mine = workload(tmp_path, "user\nann\n")
    (tmp_path / "accounts.csv").unlink()
    os.mkfifo(tmp_path / "accounts.csv")
    with pytest.raises(StudyError) as told:
        load(mine)
    assert any("not an ordinary file" in str(one) for one in told.value.problems)


def test_a_table_that_excel_saved_as_unicode_text_is_read(tmp_path: Path) -> None:
    mine = workload(tmp_path, "user\n")
    (tmp_path / "accounts.csv").write_bytes("user\tpassword\r\nann\ta b\r\nben\t\r\n".encode("utf-16"))
    value = load(mine).values["account"]
    assert isinstance(value, TableValues)
    assert (value.columns, value.rows) == ROWS
