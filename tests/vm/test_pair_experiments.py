"""Experiments on pairs as commands, in short: each prints what it measured."""

import json
import os
from typing import Any

import pytest

from loadstone.cli.exits import Exit
from loadstone.cli.main import main
from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.vm.conftest import patient_agents

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
    pytest.mark.slow("virtual machines start, and QEMU emulates them"),
]
WINDOWS_S = (4, 20)
"""Length of a measurement in seconds, and of the next where a busy host let nothing happen."""
LEAST_EVENT_BYTES, MOST_EVENT_BYTES = 5, 2000
"""Of a wake-up: one event of the log at least, and no more than some dozens."""

DELAY_MS = 20
"""Added to a round trip."""
LINK_MBITS = 0.5
"""Speed of a link that any client fills."""


def measured(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    """What `loadstone pair` prints with these words, as JSON."""
    capsys.readouterr()
    with patient_agents(), pytest.raises(SystemExit) as end:
        main(["pair", *words, "--json"])
    output = capsys.readouterr()
    assert not end.value.code, output.err
    rows: list[dict[str, Any]] = json.loads(output.out)
    return rows


def test_a_timer_in_an_idle_machine_fills_the_log_with_each_wake_up(capsys: pytest.CaptureFixture[str]) -> None:
    for seconds in WINDOWS_S:
        idle, ticking = measured(capsys, "measure-timer", "--rate", "82", "--seconds", str(seconds))
        if ticking["ticks_per_s"] > 0:
            break
    assert (idle["wanted_per_s"], idle["ticks_per_s"], idle["bytes_per_tick"]) == (0, 0, None)
    assert 0 < ticking["ticks_per_s"] <= 1.1 * 82
    assert ticking["log_mbit_per_s"] > idle["log_mbit_per_s"]
    assert LEAST_EVENT_BYTES < ticking["bytes_per_tick"] < MOST_EVENT_BYTES
    assert ticking["published_bytes_per_tick"] == 229


def test_a_secondary_that_runs_for_half_of_the_time_is_measured_between_two_whole_pairs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for seconds in WINDOWS_S:
        phases = measured(capsys, "measure-slow-secondary", "--share", "0.5", "--seconds", str(seconds))
        if all(phase["answers_per_s"] > 0 for phase in phases):
            break
    assert [(phase["title"], phase["share"]) for phase in phases] == [("whole", 1), ("slowed", 0.5), ("whole again", 1)]
    assert all(phase["answers_per_s"] > 0 and phase["median_ms"] > 0 for phase in phases)


def test_a_longer_round_trip_holds_outputs_for_longer(capsys: pytest.CaptureFixture[str]) -> None:
    delays = ("--delay-ms", "0", "--delay-ms", str(DELAY_MS))
    plain, delayed = measured(capsys, "measure-round-trip", *delays, "--seconds", str(WINDOWS_S[0]))
    assert (plain["added_ms"], delayed["added_ms"]) == (0, DELAY_MS)
    assert all(cost["answers_per_s"] > 0 and cost["log_mbit_per_s"] > 0 for cost in (plain, delayed))
    assert min(delayed["round_trip_ms"], delayed["held_ms"], delayed["median_ms"]) >= DELAY_MS


def test_a_full_link_limits_the_pair(capsys: pytest.CaptureFixture[str]) -> None:
    speeds = ("--mbits", "0", "--mbits", f"{LINK_MBITS:g}")
    free, full = measured(capsys, "measure-link", *speeds, "--seconds", str(WINDOWS_S[0]))
    assert (free["link_mbit_per_s"], free["used_pct"], full["link_mbit_per_s"]) == (None, None, LINK_MBITS)
    assert all(load["answers_per_s"] > 0 and load["log_mbit_per_s"] > 0 for load in (free, full))
    # Every message of 4 KiB is on the link before its answer may leave, each after the one before.
    assert full["median_ms"] >= 4096 * 8 / (1000 * LINK_MBITS)


def test_pairs_at_once_are_measured_together(capsys: pytest.CaptureFixture[str]) -> None:
    for seconds in WINDOWS_S:
        loads = measured(capsys, "measure-count", "--pairs", "2", "--pairs", "1", "--seconds", str(seconds))
        if all(load["answers_per_s"] for load in loads):
            break
    assert [load["pairs"] for load in loads] == [1, 2]
    for load in loads:
        assert len(load["answers_per_s_by_pair"]) == load["pairs"], load["warnings"]
        assert min(load["answers_per_s_by_pair"]) > 0 and load["median_ms"] > 0
        assert load["answers_per_s"] == pytest.approx(sum(load["answers_per_s_by_pair"]))
        assert load["lag_ms"] >= 0 and 0 <= load["slowed_pct"] <= 90


@pytest.mark.timeout(1200)
@pytest.mark.slow("writes 256 MiB in three machines, and builds their image the first time")
@pytest.mark.combination
def test_reads_fill_the_log_only_where_their_data_comes_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    logged, *unlogged = measured(capsys, "measure-reads", "--seconds", str(WINDOWS_S[0]))
    assert (logged["disks"], logged["reads"]) == ("shared", "log")
    assert [(cost["disks"], cost["reads"]) for cost in unlogged] == [("shared", "secondary"), ("replicated", None)]
    for cost in (logged, *unlogged):
        assert cost["reads_mbytes_per_s"] > 0 and cost["log_mbit_per_s"] > 0
        assert cost["rule_mbit_per_s"] == pytest.approx(1.2 * 8 * cost["reads_mbytes_per_s"])
    assert logged["log_ratio"] > 10 * max(cost["log_ratio"] for cost in unlogged)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (("measure-round-trip", "--delay-ms", "0.001"), "`--delay-ms 0.001` is too small. Use 0, or at least 0.01"),
        (("measure-round-trip", "--delay-ms", "1", "--delay-ms", "1.0"), "equal values: 1, 1"),
        (("measure-round-trip", "--delay-ms", "101"), "less than or equal to 100"),
        (("measure-link", "--mbits", "0.01"), "`--mbits 0.01` is too small. Use 0, or at least 0.1"),
        (("measure-link", "--mbits", "3", "--mbits", "3.0"), "equal values: 3, 3"),
        (("measure-count", "--pairs", "0"), "greater than or equal to 1"),
        (("measure-count", "--pairs", "2", "--pairs", "2"), "equal values: 2, 2"),
        (("measure-count", "--pairs", "64", "--memory", "65536"), "`--pairs 64` with `--memory 65536` does not fit"),
        (("measure-reads", "--block-kib", "2048"), "less than or equal to 1024"),
        (("measure-reads", "--memory", "256"), "greater than or equal to 512"),
    ],
)
def test_experiments_that_cannot_be_made_are_refused(
    values: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["pair", *values])
    assert end.value.code == Exit.WRONG_INPUT
    assert reason in " ".join(capsys.readouterr().err.split())
