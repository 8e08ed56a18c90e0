"""Tools' own output, as recorded from real ones, becomes figures; any other output is refused."""

import json
from pathlib import Path

import pytest

from loadstone.model.target import Endpoint
from loadstone.tools.kind import ToolLine, ToolOutput, ToolOutputError, ToolTask
from loadstone.tools.kinds import compile as compiling
from loadstone.tools.kinds import fio, iperf3, pgbench, sysbench, warehouses
from loadstone.tools.kinds.iperf3 import Iperf3Settings
from loadstone.tools.kinds.pgbench import PgbenchSettings
from loadstone.tools.kinds.sysbench import SysbenchSettings
from loadstone.tools.postgresql import PGBENCH_LOG
from tests.places import DATA

RECORDED = DATA / "tools"
TIMED, RUNTIME_S = 78_206, 5.001
"""Requests and seconds of fio's recorded report."""
PGBENCH_PRINTED = "started 998.0\nworked 1000.0\npgbench (15.18)\n"


def task(operation: str, folder: Path = Path(), **changes: object) -> ToolTask:
    """What a tool is asked to do for three seconds after two."""
    fields = {"settings": fio.FioSettings(), "clients": 2, "lead_s": 2.0, "steady_s": 3.0, **changes}
    return ToolTask(operation=operation, endpoint=Endpoint("10.0.0.1", 5201), folder=folder, **fields)  # type: ignore[arg-type]


def printed(text: str, every_s: float = 0.0) -> ToolOutput:
    """An output whose lines came so many seconds apart."""
    lines = text.splitlines(keepends=True)
    return ToolOutput([ToolLine(place * every_s, line) for place, line in enumerate(lines)])


def recorded(name: str) -> ToolOutput:
    return printed((RECORDED / name).read_text())


FIO_TIMES_S = (0.0, 0.0, 4.06, 6.01, 7.85, 7.86)
"""When fio's first lines came; the report came with the last of them."""


def fio_output(slower: float = 1.0) -> ToolOutput:
    """fio's output on a machine whose clock is so many times slower than this host's."""
    lines = (RECORDED / "fio.txt").read_bytes().decode().split("\n")
    times_s = [*FIO_TIMES_S, *[FIO_TIMES_S[-1]] * len(lines)]
    return ToolOutput([ToolLine(slower * at_s, f"{line}\n") for at_s, line in zip(times_s, lines, strict=False)][:-1])


def test_iperf3_counts_whole_messages_of_the_seconds_that_are_not_omitted() -> None:
    given = task("receive", settings=Iperf3Settings(), clients=1)
    found = iperf3.KIND.figures(given, recorded("iperf3.json"))
    reported = json.loads((RECORDED / "iperf3.json").read_text())["intervals"]
    counted = [interval["sum"] for interval in reported if not interval["sum"]["omitted"]]
    assert found.version == "iperf 3.12"
    assert len(found.intervals) == len(counted) < len(reported)
    assert found.total.count == sum(interval["bytes"] for interval in counted) // 8192
    assert found.total.bytes == 8192 * found.total.count
    assert found.steady_s == pytest.approx(sum(interval["seconds"] for interval in counted))
    # One connection without pauses is always busy with a message.
    assert found.total.total_s == pytest.approx(found.steady_s, rel=1e-3)


def test_iperf3_counts_no_interval_that_begins_after_the_steady_state() -> None:
    given = task("receive", settings=Iperf3Settings(), clients=1, steady_s=0.55)
    found = iperf3.KIND.figures(given, recorded("iperf3.json"))
    assert len(found.intervals) == 6
    assert 0.55 <= found.steady_s < 0.66


def test_iperf3_sends_back_only_where_the_system_is_to_send() -> None:
    commands = [iperf3.KIND.command(task(way, settings=Iperf3Settings())) for way in ("receive", "send")]
    assert ["--reverse" in command for command in commands] == [False, True]
    assert all(command[command.index("--omit") + 1] == "2" for command in commands)


def test_iperf3s_own_error_is_the_reason_of_a_refusal() -> None:
    with pytest.raises(ToolOutputError, match="unable to connect"):
        iperf3.KIND.figures(task("receive", settings=Iperf3Settings()), printed('{"error": "unable to connect"}'))


def test_fio_counts_what_was_timed_after_its_ramp() -> None:
    found = fio.KIND.figures(task("randread 2k"), fio_output())
    assert found.version == "fio-3.33"
    timed = sum(found.total.times_us.values())
    assert timed == found.total.count == TIMED
    assert found.total.bytes == pytest.approx(2048 * found.total.count, rel=0.01)
    mean_us = sum(time_us * number for time_us, number in found.total.times_us.items()) / timed
    assert mean_us == pytest.approx(1e6 * found.total.total_s / found.total.count, rel=0.02)


def test_fios_rates_follow_this_hosts_clock() -> None:
    same, slow = (fio.KIND.figures(task("randread 2k"), fio_output(slower)) for slower in (1.0, 3.0))
    # It ran for 5.0 of the 8.01 s between both readings of the machine's clock, which took this host 7.86 s.
    assert same.steady_s == pytest.approx(RUNTIME_S * 7.86 / 8.01)
    assert same.begin_s == pytest.approx(7.86 - same.steady_s)
    assert slow.steady_s == pytest.approx(3 * same.steady_s)
    assert slow.total.count == same.total.count


def test_fios_times_follow_its_own_clock_and_are_means_of_this_hosts_where_it_drifted() -> None:
    right_s = 8.01 / 7.86
    same, slow = (fio.KIND.figures(task("randread 2k"), fio_output(slower)) for slower in (right_s, 3.0))
    assert len(same.total.times_us) > len(slow.intervals)
    assert (same.clock_drift_pct, slow.clock_drift_pct) == (None, pytest.approx(100 * (3 - right_s) / 3))
    # Two threads always wait for a request, so their means follow from the count (Little's law).
    assert slow.total.total_s == pytest.approx(2 * slow.steady_s, rel=1e-3)
    assert len(slow.total.times_us) <= len(slow.intervals)


def test_fios_progress_gives_each_second_its_share_of_all_requests() -> None:
    found = fio.KIND.figures(task("randread 2k"), fio_output())
    counts = [interval.amount.count for interval in found.intervals]
    assert sum(counts) == TIMED
    # 1,198, 2,109 and 22,000 requests a second when 1.1, 3.1 and 4.9 s were over.
    assert counts == sorted(counts)
    assert [interval.end_s for interval in found.intervals][-1] == pytest.approx(found.steady_s)
    without = ToolOutput([line for line in fio_output().lines if "IOPS" not in line.text])
    (whole,) = fio.KIND.figures(task("randread 2k"), without).intervals
    assert whole.amount.count == TIMED


def test_fio_that_fails_or_is_cut_off_is_refused_with_its_own_words() -> None:
    with pytest.raises(ToolOutputError, match="code 1: fio: bad option"):
        fio.KIND.figures(task("randread 2k"), printed("fio: bad option\nloadstone-exit 1\n"))
    with pytest.raises(ToolOutputError, match="ended before the tool"):
        fio.KIND.figures(task("randread 2k"), printed('{\n "jobs": []\n'))
    with pytest.raises(ToolOutputError, match="no report"):
        fio.KIND.figures(task("randread 2k"), printed("loadstone-exit 0\n"))
    unclocked = ToolOutput([line for line in fio_output().lines if not line.text.startswith("uptime")])
    with pytest.raises(ToolOutputError, match="0 lines with the machine's clock"):
        fio.KIND.figures(task("randread 2k"), unclocked)


def test_pgbench_counts_transactions_that_ended_in_the_steady_state(tmp_path: Path) -> None:
    ends = {
        "a": ["0 1 100000 0 1000 100000", "0 2 2000 0 1002 500000", "0 3 4000 0 1004 999000"],
        "b": ["1 1 50000 0 1000 200000", "1 2 failed 0 1003 100000", "1 3 6000 0 1005 100000"],
    }
    for name, lines in ends.items():
        (tmp_path / f"{PGBENCH_LOG}.{name}").write_text("\n".join(lines) + "\n")
    given = task("tpcb", tmp_path, settings=PgbenchSettings())
    found = pgbench.KIND.figures(given, printed(PGBENCH_PRINTED))
    # The first block of the log was there at 1000.0, so the steady state is from 1002.0 to 1005.0.
    assert [(interval.amount.count, interval.amount.errors) for interval in found.intervals] == [(1, 0), (1, 1), (1, 0)]
    assert found.total.times_us == {2000: 1, 4000: 1}
    assert found.total.total_s == pytest.approx(0.006)
    assert (found.begin_s, found.steady_s) == (4.0, 3.0)


def test_pgbench_that_ended_early_has_a_shorter_steady_state(tmp_path: Path) -> None:
    given = task("tpcb", tmp_path, settings=PgbenchSettings())
    log = tmp_path / f"{PGBENCH_LOG}.1"
    log.write_text("0 1 100000 0 1000 100000\n0 2 2000 0 1003 100000\n")
    assert pgbench.KIND.figures(given, printed(PGBENCH_PRINTED)).steady_s == 1.0
    log.write_text("0 1 100000 0 1000 100000\n")
    with pytest.raises(ToolOutputError, match="answers take longer than the 3 s"):
        pgbench.KIND.figures(given, printed(PGBENCH_PRINTED))


def test_pgbench_without_a_version_or_transactions_is_refused(tmp_path: Path) -> None:
    given = task("tpcb", tmp_path, settings=PgbenchSettings())
    for text in ("", "pgbench (15.18)\n"):
        with pytest.raises(ToolOutputError):
            pgbench.KIND.figures(given, printed(text))


def test_sysbench_has_all_its_times_from_the_histogram_and_its_seconds_from_the_reports() -> None:
    given = task("oltp_read_write", settings=SysbenchSettings(), steady_s=5.0)
    found = sysbench.KIND.figures(given, recorded("sysbench.txt"))
    assert found.version == "sysbench 1.0.20"
    assert (found.total.count, found.total.errors) == (3830 + 4, 4)
    assert found.total.total_s == pytest.approx(40.14088)
    assert found.steady_s == pytest.approx(5.0726)
    assert len(found.intervals) == 5
    assert sum(interval.amount.count for interval in found.intervals) == pytest.approx(3834, rel=0.03)


def test_the_java_kernel_counts_by_its_lines_and_times_by_its_histogram() -> None:
    found = warehouses.KIND.figures(task("operation"), printed((RECORDED / "warehouses.txt").read_text(), every_s=1.0))
    assert [interval.amount.count for interval in found.intervals] == [26_892, 33_437, 23_370, 27_779, 21_775, 13_261]
    assert found.total.count == 146_514
    assert found.total.total_s == pytest.approx(12.023992913)
    assert found.steady_s == 6.0


def test_the_java_kernels_times_are_means_of_this_hosts_where_its_clock_drifted() -> None:
    text = (RECORDED / "warehouses.txt").read_text()
    same, slow = (warehouses.KIND.figures(task("operation"), printed(text, every_s=every_s)) for every_s in (1.0, 4.0))
    assert slow.total.count == pytest.approx(same.total.count, rel=0.01)
    assert (slow.steady_s, slow.total.total_s) == (24.0, pytest.approx(2 * 24.0))
    assert (same.clock_drift_pct, slow.clock_drift_pct) == (None, 75.0)


def test_a_compilation_takes_the_time_between_its_lines() -> None:
    text = "begin\nend\nbegin\nend\nloadstone-exit 0\n"
    found = compiling.KIND.figures(task("compile", operations=2), printed(text, every_s=4.0))
    assert found.total.times_us == {4_000_000: 2}
    assert (found.begin_s, found.steady_s) == (0.0, 12.0)
    with pytest.raises(ToolOutputError, match="2 compilations began, 1 ended"):
        compiling.KIND.figures(task("compile"), printed("begin\nend\nbegin\nloadstone-exit 0\n"))


@pytest.mark.parametrize("kind", [iperf3.KIND, fio.KIND, pgbench.KIND, sysbench.KIND, warehouses.KIND, compiling.KIND])
@pytest.mark.parametrize("text", ["", "[]\n", "nonsense\n", "count many\nloadstone-exit 0\n"])
def test_no_reader_takes_another_output(kind: object, text: str, tmp_path: Path) -> None:
    settings = kind.settings()  # type: ignore[attr-defined]
    with pytest.raises((ValueError, LookupError, TypeError)):
        kind.figures(task("randread 2k", tmp_path, settings=settings), printed(text))  # type: ignore[attr-defined]
