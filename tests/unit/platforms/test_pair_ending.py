"""When a pair that was told to end counts as gone, and what is said where something of it is left."""

import os
from pathlib import Path

import pytest

from loadstone.model.errors import PlatformError
from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.pair import control
from loadstone.platforms.pair.control import PairState
from loadstone.platforms.pair.ending import forget_when_gone, wait_until_gone
from loadstone.platforms.pair.record import PairRecord, ProcessRecord, SideRecord, locate_sides

NAME = "shop"
LOST = {"s2": "it did not answer within 1.5 s"}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all pairs."""
    monkeypatch.setattr(control, "make_private_folder", lambda: tmp_path)
    return tmp_path


def store_record(place: Path, is_over_hosts: bool = False) -> PairRecord:
    nic = NetworkInterface("public", "tap1", "lst-1", "10.1.0.1", "52:54:00:00:01:01", "10.1.0.2")
    folder, logs = place / "journal", control.create_logs(NAME)
    fleet = {"hosts": {}} if is_over_hosts else None
    record = PairRecord(name=NAME, machine={}, folder=folder, logs=logs, nic=nic, serves="nothing", fleet=fleet)
    control.remember(record)
    return record


def store_side(record: PairRecord, pid: int) -> None:
    """Notes a side whose agent is the process of this number."""
    folder = locate_sides(record.folder, NAME)
    folder.mkdir(parents=True)
    SideRecord(name="a", tap="tap1", started="booted", agent=ProcessRecord.read(pid)).write(folder / "a.side")


def test_a_pair_of_which_nothing_is_left_is_forgotten(place: Path) -> None:
    store_record(place)
    with forget_when_gone(NAME):
        assert control.list_known() == [NAME]
    wait_until_gone(NAME)
    assert control.list_known() == []


def test_a_pair_that_failed_is_forgotten_too_and_its_error_is_the_one_that_is_raised(place: Path) -> None:
    store_record(place)
    with pytest.raises(PlatformError, match="both machines are gone"), forget_when_gone(NAME):
        raise PlatformError("both machines are gone")
    assert control.list_known() == []


def test_hosts_that_were_not_released_fail_the_end_and_stay_in_the_record(place: Path) -> None:
    store_record(place, is_over_hosts=True)
    assert control.state_of(NAME) is PairState.WITHOUT_KEEPER
    with pytest.raises(PlatformError, match="could not be released"), forget_when_gone(NAME, lambda: LOST):
        pass
    with pytest.raises(PlatformError, match=r"s2: it did not answer.*`loadstone pair clean`"):
        wait_until_gone(NAME)
    assert control.state_of(NAME) is PairState.ENDED, "it can be cleaned"


def test_a_process_that_still_runs_fails_the_end_and_is_named(place: Path) -> None:
    record = store_record(place)
    store_side(record, os.getpid())
    with pytest.raises(PlatformError, match="these processes still run"), forget_when_gone(NAME):
        pass
    with pytest.raises(PlatformError, match=rf"agent a \(process {os.getpid()}\).*`loadstone pair end shop`"):
        wait_until_gone(NAME)


def test_a_keeper_that_died_while_it_ended_the_pair_is_no_end(place: Path) -> None:
    record = store_record(place)
    store_side(record, os.getpid())
    with pytest.raises(PlatformError, match=r"ended before the pair did.*agent a"):
        wait_until_gone(NAME)


def test_a_keeper_that_still_ends_the_pair_is_waited_for_as_long_as_the_bound_says(place: Path) -> None:
    store_record(place)
    with control.lock_keeper(NAME), pytest.raises(PlatformError, match=r"still runs after 0\.01 s"):
        wait_until_gone(NAME, 0.01)
