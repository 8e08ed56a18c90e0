"""Workloads that pgbench plays with our scripts: weights, pauses apart from operations, and how orders end."""

import re
from pathlib import Path

import pytest

from loadstone.model.target import Endpoint
from loadstone.run.tool_job import read_tool_settings
from loadstone.tools.kind import ToolKind, ToolLine, ToolOutput, ToolOutputError, ToolTask
from loadstone.tools.kinds import dvd_store, order_entry
from loadstone.tools.postgresql import PGBENCH_LOG
from loadstone.tools.scripted import FILL_FILE, compute_weights
from loadstone.workloads import load

PRINTED = "started 998.000000000\nworked 1000.000000000\npgbench (15.18)\n"
KINDS = [order_entry.KIND, dvd_store.KIND]


def task(name: str, folder: Path = Path(), steady_s: float = 3.0) -> ToolTask:
    """What the tool of a shipped workload is asked to do after two seconds."""
    workload = load(name)
    assert workload.tool is not None
    shares = {workload.operations[operation].path: share for operation, share in workload.mix.shares.items()}
    settings = read_tool_settings(workload.tool)
    endpoint = Endpoint("10.0.0.1", 5432)
    return ToolTask("x", settings, 2, 2.0, steady_s, endpoint, folder, shares=shares)


def printed(text: str = PRINTED) -> ToolOutput:
    return ToolOutput([ToolLine(0.0, line) for line in text.splitlines(keepends=True)])


def write_log(folder: Path, *lines: str) -> None:
    (folder / f"{PGBENCH_LOG}.1").write_text("\n".join(lines) + "\n")


def test_weights_of_order_entry_are_the_published_ones() -> None:
    scripts = order_entry.list_scripts(task("order-entry"))
    assert {script.name: script.weight for script in scripts} == {
        "new-customer": 20,
        "browse": 50,
        "process-orders": 10,
        "update-orders": 50,
    }


def test_two_of_five_customers_of_dvd_store_are_new_and_numbers_of_searches_are_equally_likely() -> None:
    scripts = dvd_store.list_scripts(task("dvd-store"))
    weights = {script.name: script.weight for script in scripts}
    assert weights == {
        f"{entrance}-{searches}": weight
        for entrance, weight in (("login", 60), ("new-customer", 40))
        for searches in range(1, 10)
    }
    assert all(f"\\set searches {script.name.rpartition('-')[2]}\n" in script.text for script in scripts)


def test_fractional_shares_become_whole_weights_and_zeros_are_left_out() -> None:
    assert compute_weights({"a": 0.25, "b": 0.75, "c": 0}) == {"a": 2500, "b": 7500}
    assert compute_weights({"a": 20.0, "b": 1}) == {"a": 20, "b": 1}


def test_declared_pauses_are_those_of_the_scripts() -> None:
    entry, store = (task(name).settings for name in ("order-entry", "dvd-store"))
    assert isinstance(entry, order_entry.OrderEntrySettings) and isinstance(store, dvd_store.DvdStoreSettings)
    assert (entry.pause_least_ms, entry.pause_most_ms) == (50, 250)
    assert load("order-entry").pacing.mean_s == (entry.pause_least_ms + entry.pause_most_ms) / 2000
    assert load("dvd-store").pacing.mean_s == store.think_ms / 1000
    assert load("dvd-store").mix.shares["search"] == 100 * store.searches


@pytest.mark.parametrize(("kind", "name"), zip(KINDS, ("order-entry", "dvd-store"), strict=True))
def test_every_script_pauses_only_where_it_does_nothing_else(kind: ToolKind, name: str) -> None:
    files = kind.files(task(name))
    assert "check_rows" in files.pop(FILL_FILE)
    for text in files.values():
        branches = re.split(r"^\\(?:elif|else).*$", text, flags=re.MULTILINE)
        assert "\\sleep" in branches[0] and ";" not in branches[0] and "gset" not in branches[0]
        assert not any("\\sleep" in branch for branch in branches[1:])
        assert text.count("\\if") == text.count("\\endif")


@pytest.mark.parametrize(("kind", "name"), zip(KINDS, ("order-entry", "dvd-store"), strict=True))
def test_a_command_names_every_script_with_its_weight_and_plays_beyond_the_steady_state(
    kind: ToolKind, name: str
) -> None:
    given = task(name, Path("/run"))
    _, _, _, _, log, seconds, *options = kind.command(given)
    assert (log, seconds) == (f"/run/{PGBENCH_LOG}", "6")
    command = " ".join(options)
    scripts = set(kind.files(given)) - {FILL_FILE}
    assert set(re.findall(r"--file=/run/([\w.-]+)@[1-9]\d*", command)) == scripts
    ((*_, filling, database),) = kind.prepare(given)
    assert (filling, database) == ("/run/fill.sql", "postgres")


def test_pauses_of_order_entry_are_no_transactions_and_errors_stay_with_their_kind(tmp_path: Path) -> None:
    write_log(
        tmp_path,
        # The first block of the log was there at 1000.0: the steady state is from 1002.0 to 1005.0.
        "0 1 100000 3 1000 100000",
        "0 2 9000 0 1000 109000",
        "0 3 1991000 1 1002 100000",
        "0 4 2000 0 1002 102000",
        "1 1 200000 0 1002 500000",
        "1 2 failed 2 1002 501000",
        "1 3 499000 0 1003 0",
        "1 4 5000 1 1003 5000",
        "1 5 100000 1 1005 105000",
    )
    figures = order_entry.KIND.figures(task("order-entry", tmp_path), printed())
    assert figures.steady_s == 3.0
    # It was started at 998.0, two seconds before.
    assert figures.begin_s == pytest.approx(4.0)
    assert [interval.amount.count for interval in figures.intervals] == [2, 1, 0]
    assert dict(figures.get_total("new-customer").times_us) == {2000: 1}
    assert dict(figures.get_total("browse").times_us) == {5000: 1}
    assert (figures.get_total("process-orders").count, figures.get_total("process-orders").errors) == (1, 1)
    assert figures.get_total("update-orders").count == 0
    assert dict(figures.pauses.times_us) == {1_991_000: 1, 200_000: 1, 499_000: 1}


def test_clients_that_connect_too_slowly_shorten_the_steady_state(tmp_path: Path) -> None:
    write_log(tmp_path, "0 1 100000 0 1000 100000", "0 2 9000 0 1000 109000", "0 3 100000 0 1003 900000")
    assert order_entry.KIND.figures(task("order-entry", tmp_path), printed()).steady_s == 1.0
    write_log(tmp_path, "0 1 100000 0 1000 100000", "0 2 9000 0 1002 900000")
    with pytest.raises(ToolOutputError, match="too long to connect"):
        order_entry.KIND.figures(task("order-entry", tmp_path), printed())


def test_orders_of_dvd_store_are_followed_from_the_pause_to_the_purchase(tmp_path: Path) -> None:
    # Script 1 is a login with two searches, script 9 a new customer with one.
    write_log(
        tmp_path,
        "0 1 100000 5 1000 100000",
        "0 2 4000 1 1002 104000",
        "0 3 1000 7 1002 105000",
        "0 4 1100 8 1002 106000",
        "0 5 7000 3 1002 200000",
        "0 6 600000 2 1003 100000",
        "0 7 5000 9 1003 200000",
        "0 8 1200 0 1003 300000",
        "0 9 8000 4 1003 400000",
        "0 10 100000 4 1004 500000",
        "0 11 5000 9 1004 600000",
        "0 12 1300 9 1004 700000",
        "0 13 failed 9 1004 800000",
        "0 14 100000 9 1005 900000",
    )
    figures = dvd_store.KIND.figures(task("dvd-store", tmp_path), printed(f"{PRINTED}refused 0 2\nrefused 1 1\n"))
    assert dict(figures.get_total("login").times_us) == {4000: 1}
    assert dict(figures.get_total("new-customer").times_us) == {5000: 2}
    assert dict(figures.get_total("search").times_us) == {1000: 1, 1100: 1, 1200: 1, 1300: 1}
    assert dict(figures.get_total("purchase").times_us) == {7000: 1, 8000: 1}
    assert figures.get_total("purchase").errors == 1
    assert dict(figures.pauses.times_us) == {600_000: 1, 100_000: 1}
    endings = [(ending.operation, ending.name, ending.count, ending.steady) for ending in figures.endings]
    assert endings == [("purchase", "bought", 1, 1), ("purchase", "rolled_back", 1, 1)]


@pytest.mark.parametrize(("kind", "name"), zip(KINDS, ("order-entry", "dvd-store"), strict=True))
def test_an_incomplete_log_or_output_is_refused(kind: ToolKind, name: str, tmp_path: Path) -> None:
    with pytest.raises(ToolOutputError, match="no transaction"):
        kind.figures(task(name, tmp_path), printed())
    write_log(tmp_path, "0 1 100000 0 1000 100000", "0 3 100000 0 1003 100000")
    with pytest.raises(ToolOutputError, match="not all transactions of client 0"):
        kind.figures(task(name, tmp_path), printed())
    write_log(tmp_path, "0 1 100000 0 1000 100000")
    for text in ("", "pgbench (15.18)\n", PRINTED.replace("worked", "w"), PRINTED.replace("started", "s")):
        with pytest.raises(ToolOutputError, match="no line with"):
            kind.figures(task(name, tmp_path), printed(text))
