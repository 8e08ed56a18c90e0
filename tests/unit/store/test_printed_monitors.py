"""Printed tables of monitors: what is read, what is refused and why, and the sample that they become."""

import csv
import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.judge.printed_monitors import audit_monitors
from loadstone.judge.usage import compute_host_usage, compute_inside_usage, compute_outside_usage
from loadstone.model.errors import StoreError
from loadstone.model.printed_monitors import QUANTITIES, MonitorSubject, MonitorView, PrintedMonitor
from loadstone.store.figures import FIGURES, read_figures, write_figures
from loadstone.store.printed_monitors import build_sample, parse_monitor
from loadstone.store.published import list_unread_tables, read_published
from tests.places import PROJECT

PAGES = """workload,table,page,column,value
banking,requests counted in 60 s,login,V1,3
banking,average response time,login,V1,0.5
banking,average bytes,login,V1,10
banking,QoS counts,login,V1,2/1/0
"""
NATIVE = """banking,monitors of web,processors,V1,1
banking,monitors of web,"CPU user, %",V1,80
banking,monitors of web,"CPU system, %",V1,19
banking,monitors of web,"network sent, Mbit/s",V1,110
"""
"""Printed figures of a native server."""


def write(folder: Path, rows: str) -> Path:
    (folder / "published.csv").write_text(PAGES + rows)
    return folder / "published.csv"


def read(folder: Path, rows: str) -> tuple[PrintedMonitor, ...]:
    return read_published(write(folder, rows))["banking"]["V1"].monitors


def test_figures_are_kept_with_the_digits_that_were_printed(tmp_path: Path) -> None:
    figures = read(tmp_path, NATIVE)
    assert [(figure.quantity, figure.unit, figure.printed) for figure in figures] == [
        ("processors", "", "1"),
        ("CPU user", "%", "80"),
        ("CPU system", "%", "19"),
        ("network sent", "Mbit/s", "110"),
    ]
    assert {figure.subject for figure in figures} == {MonitorSubject("web")}


def test_a_machine_a_side_and_a_part_are_read_from_the_name_of_the_table() -> None:
    cases = {
        "monitors of host": MonitorSubject("host"),
        "monitors of web-2 by the host": MonitorSubject("web-2", MonitorView.OUTSIDE),
        "monitors of host/cpu0": MonitorSubject("host", part="cpu0"),
        "monitors of web/eth0 by the host": MonitorSubject("web", MonitorView.OUTSIDE, "eth0"),
    }
    assert {table: parse_monitor(table, "CPU user, %", "1").subject for table in cases} == cases


def test_a_figure_of_all_iterations_is_part_of_each(tmp_path: Path) -> None:
    second = PAGES.partition("\n")[2].replace(",V1,", ",V2,")
    rows = 'banking,monitors of web by the host,"CPU, cores",all,1.04\nbanking,monitors of web,run queue,V2,3\n'
    iterations = read_published(write(tmp_path, second + rows))["banking"]
    assert [(figure.printed, figure.is_common) for figure in iterations["V1"].monitors] == [("1.04", True)]
    assert [(figure.printed, figure.is_common) for figure in iterations["V2"].monitors] == [
        ("1.04", True),
        ("3", False),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            'monitors of web,"CPU user, %",V1,100.1',
            r"`100.1` is more than 100 % of the machine. Write `% of a core` if",
        ),
        (
            'monitors of web,"CPU user, % of a core",V1,101',
            "`101` is above 100, which is all that its processors have. Correct it",
        ),
        (
            'monitors of web,"CPU user, cores",V1,1.1',
            "`1.1` is above 1, which is all that its processors have. Correct it",
        ),
        ('monitors of web,"CPU idle, %",V1,-1', "`-1` is not between 0 and 1e"),
        ('monitors of web,"CPU idle, %",V1,nan', "`nan` is not between 0 and 1e"),
        ('monitors of web,"CPU idle, %",V1,inf', "`inf` is not between 0 and 1e"),
        ('monitors of web,"CPU idle, %",V1,', "the cell is empty. Write the printed figure, or remove the row"),
        ('monitors of web,"CPU idle, %",V1,few', "`few` is not a number"),
        ('monitors of web,"CPU idle, %",V1,0e999999999', "`0e999999999` is not a plain number. Write digits"),
        ('monitors of web,"CPU idle, %",V1,1e-999', "`1e-999` is not a plain number. Write digits"),
        ('monitors of web,"interrupts, 1/s",V1,"12,345"', "`12,345` has a comma or another separator. Write digits"),
        (
            "monitors of web,interrupts,V1,5",
            "`` is not a unit of `interrupts`. Write `interrupts, UNIT` with one of `1/s`",
        ),
        ('monitors of web,"CPU idle, MHz",V1,5', "`MHz` is not a unit of `CPU idle`. .*`%`, `% of a core`, `cores`"),
        ('monitors of web,"CPU usr, %",V1,5', "`CPU usr` is not a known quantity. Did you mean `CPU user`"),
        (
            'monitors of web,"heat, %",V1,5',
            "`heat` is not a known quantity. Known quantities: processors, CPU, CPU user",
        ),
        ("monitors of web,processors,all,1", "the figure occurs twice, also in line 6. Remove one of both rows"),
        ('monitors of web,"CPU idle, %",V9,1', "`V9` is not an iteration of `banking`. Known columns: V1, all"),
        ('monitors,"CPU idle, %",V1,1', "`monitors` does not name a machine. Use `monitors of MACHINE`"),
        ('monitors of host by the host,"CPU, %",V1,1', "is the host as the host sees it. Use `monitors of host`"),
        ("monitors of host,processors,V1,1.5", "`1.5` is not a whole number"),
        ("monitors of host,processors,V1,0", "`0` is not a valid number of processors. Use 1 or more"),
        ("monitors of host,run queue,V1,٣", "is not between|is not a number"),
    ],
)
def test_a_row_that_cannot_be_right_is_refused_with_its_line(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(StoreError, match=f"published.csv:10: .*{message}"):
        read(tmp_path, f"{NATIVE}banking,{row}\n")


def test_all_problems_are_named_at_once_each_once(tmp_path: Path) -> None:
    rows = 'banking,monitors of web,"CPU usr, %",V1,5\nbanking,monitors of web,"CPU idle, %",V1,-1\n'
    with pytest.raises(StoreError) as caught:
        read(tmp_path, rows)
    assert [line.split(": ")[0].rpartition(":")[2] for line in str(caught.value).splitlines()] == ["6", "7"]


def test_a_virtual_machine_may_cost_the_host_more_than_its_own_processors(tmp_path: Path) -> None:
    rows = 'banking,monitors of web,processors,V1,1\nbanking,monitors of web by the host,"CPU, cores",V1,1.28\n'
    assert read(tmp_path, rows)[1].printed == "1.28"
    with pytest.raises(StoreError, match=r"`1\.28` is above 1"):
        read(tmp_path, rows + "banking,monitors of host,processors,V1,1\n")


def test_a_sample_has_the_printed_figures_in_its_units_and_nothing_else(tmp_path: Path) -> None:
    sample = build_sample(read(tmp_path, NATIVE), 60.0)
    assert sample is not None
    usage = compute_inside_usage([sample], "web")
    assert usage == {
        "user_cores": pytest.approx(0.80),
        "system_cores": pytest.approx(0.19),
        "network_sent_per_s": pytest.approx(13_750_000),
    }
    assert (compute_host_usage([sample]), compute_outside_usage([sample], "web")) == ({}, {})


def test_a_percentage_without_the_number_of_processors_is_not_converted(tmp_path: Path) -> None:
    sample = build_sample(read(tmp_path, 'banking,monitors of web,"CPU user, %",V1,80\n'), 60.0)
    assert sample is not None and compute_inside_usage([sample], "web") == {}


def test_threads_of_a_machine_are_a_part_of_its_total(tmp_path: Path) -> None:
    table = "banking,monitors of web by the host"
    threads = f'{table},"CPU of virtual processors, cores",V1,0.9\n'
    sample = build_sample(read(tmp_path, threads), 60.0)
    assert sample is not None and compute_outside_usage([sample], "web") == {"vcpu_cores": 0.9}
    total = f'{threads}{table},"CPU, cores",V1,1.04\n{table},"memory active, MiB",V1,512\n'
    sample = build_sample(read(tmp_path, total), 60.0)
    assert sample is not None
    usage = compute_outside_usage([sample], "web")
    assert (usage["cores"], usage["active_bytes"]) == (pytest.approx(1.04), 512 * 2**20)


def test_parts_are_no_figures_of_their_machine(tmp_path: Path) -> None:
    assert build_sample(read(tmp_path, 'banking,monitors of host/cpu0,"CPU user, %",V1,80\n'), 60.0) is None


def test_a_table_that_is_not_known_is_named(tmp_path: Path) -> None:
    rows = 'banking,"Weighted ABR, bytes/s",login,V1,1\nbanking,temperature,login,V1,40\n'
    assert list_unread_tables(write(tmp_path, NATIVE + rows)) == ["temperature"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_as_spreadsheets_save_it_is_read(tmp_path: Path, encoding: str) -> None:
    file = write(tmp_path, NATIVE)
    expected = read_published(file)
    file.write_bytes((PAGES + NATIVE).replace("\n", "\r\n").encode(encoding))
    assert read_published(file) == expected


def test_the_page_about_imports_has_every_quantity_and_unit() -> None:
    page = (PROJECT / "docs" / "how-to" / "import.md").read_text()
    units = dict.fromkeys(unit for quantity in QUANTITIES.values() for unit in quantity.units if unit)
    assert [name for name in (*QUANTITIES, *units) if f"`{name}`" not in page] == []


def test_the_example_of_the_page_is_read(tmp_path: Path) -> None:
    page = (PROJECT / "docs" / "how-to" / "import.md").read_text()
    assert len(read(tmp_path, page.partition("```csv\n")[2].partition("```")[0])) == 5


NAMES = st.sampled_from(["", "monitors", "monitors of web", "monitors of web by the host", "CPU, cores", "CPU user, %"])
VALUES = st.sampled_from(["V1", "all", "0", "1", "0e99", "1e12", ".5", "5.", "+1", "0x1", "1e-99"])


@given(st.lists(st.tuples(*[NAMES | VALUES | st.text(max_size=8)] * 4), max_size=4))
@settings(max_examples=150, deadline=None)
def test_a_table_of_any_cells_is_read_or_refused(rows: list[tuple[str, str, str, str]]) -> None:
    lines = io.StringIO()
    csv.writer(lines).writerows(("banking", *row) for row in rows)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "published.csv").write_text(PAGES + lines.getvalue(), encoding="utf-8", newline="")
        try:
            figures = read_published(Path(folder) / "published.csv")["banking"]["V1"]
        except StoreError:
            return
    build_sample(figures.monitors, 60.0)
    list(audit_monitors(figures.monitors))


@pytest.mark.parametrize(
    "change", [{"printed": "many"}, {"printed": "nan"}, {"printed": "0e999999999"}, {"quantity": "heat"}, {"unit": "x"}]
)
def test_figures_that_somebody_changed_are_refused_or_left_out(tmp_path: Path, change: dict[str, str]) -> None:
    figures = read_published(write(tmp_path, NATIVE))["banking"]["V1"]
    write_figures(tmp_path, figures)
    document = json.loads((tmp_path / FIGURES).read_text())
    document["figures"]["monitors"][1] |= change
    (tmp_path / FIGURES).write_text(json.dumps(document))
    if "unit" in change:
        figures_read = read_figures(tmp_path / FIGURES)
        assert figures_read is not None and build_sample(figures_read.monitors, 60.0) is not None
    else:
        with pytest.raises(StoreError, match=r"monitors\.1"):
            read_figures(tmp_path / FIGURES)
