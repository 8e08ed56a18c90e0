"""The words of a pair's QEMU and its agents: nothing that cannot be replayed, and filters in the order that matters."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.pair.addressing import build_description
from loadstone.platforms.pair.command import (
    Mode,
    PairLayout,
    RemotePeer,
    SideFiles,
    build_agent_command,
    build_kernel_line,
    build_qemu_command,
)
from loadstone.platforms.pair.disk import Disks, PairDisk, PairSettings, Reads, describe_idle_settings
from loadstone.platforms.pair.fitness import explain_refusal, find_unlike
from loadstone.platforms.pair.local import build_side_files
from loadstone.platforms.pair.machine import disclose_metrics
from loadstone.platforms.vm.image import Image

NIC = NetworkInterface("public", "tap1", "ns", "10.200.0.2", "52:54:0a:c8:00:02", "10.200.0.1", twin="tap2")
LAYOUT = PairLayout("one", 192, Image("minimal", "d", Path("/k"), "6.1", Path("/i")), NIC)
FILES = SideFiles(Path("/run/p"), "a")


@pytest.mark.parametrize("mode", Mode)
def test_what_cannot_be_replayed_is_left_out(mode: Mode) -> None:
    words = " ".join(build_qemu_command(LAYOUT, mode, FILES, Path("/c")))
    assert "virtio-rng" not in words
    assert "virtserialport" not in words
    assert "tx=timer" in words
    assert "-rtc clock=vm" in words
    assert "-smp 1 " in words
    assert ("rr=" in words) == (mode in (Mode.RECORD, Mode.REPLAY))


def test_a_machine_that_runs_alone_differs_from_a_protected_one_by_its_log_alone() -> None:
    layout = replace(LAYOUT, disk=PairDisk(64))
    alone, recorded = (build_qemu_command(layout, mode, FILES, Path("/c"), 7) for mode in (Mode.ALONE, Mode.RECORD))
    assert [(a, b) for a, b in zip(alone, recorded, strict=True) if a != b] == [
        ("shift=1,sleep=on", "shift=1,sleep=on,rr=record,rrfile=/run/p/a.log")
    ]


def test_both_sides_see_what_the_guest_sends_before_the_replay_filter_drops_it() -> None:
    words = build_qemu_command(LAYOUT, Mode.REPLAY, FILES, Path("/c"), 7)
    filters = [word.partition(",")[0] for word in words if word.startswith("filter-")]
    assert filters == ["filter-replay", "filter-redirector"]  # guests' frames pass them from the last to the first
    assert words[-2:] == ["-incoming", "fd:7"]


def test_a_machine_that_boots_is_the_same_whatever_its_address_will_be() -> None:
    elsewhere = replace(LAYOUT, nic=replace(NIC, address="10.9.0.7", mac="52:54:0a:09:00:07", host="10.9.0.1"))
    for mode in Mode:
        words = build_qemu_command(LAYOUT, mode, FILES, Path("/c"))
        assert words == build_qemu_command(elsewhere, mode, FILES, Path("/c"))
    assert build_kernel_line(LAYOUT) == build_kernel_line(elsewhere)
    assert "loadstone.listen=9" in build_kernel_line(LAYOUT)


def test_the_frame_that_tells_a_machine_its_address_reaches_it_before_it_has_one() -> None:
    frame = build_description(NIC)
    assert frame[:6] == b"\xff" * 6
    assert frame[12:14] == bytes.fromhex("88b5")
    assert len(frame) >= 60
    assert json.loads(frame[14:].rstrip(b"\0")) == {
        "made_as": "52:54:00:00:00:00",
        "mac": NIC.mac,
        "address": NIC.address,
        "prefix": 24,
        "gateway": NIC.host,
    }


def test_an_agent_that_follows_is_told_whom() -> None:
    alone = build_agent_command("loadstone-pair", LAYOUT, FILES, "tap1", None)
    assert "--follow" not in alone
    assert build_agent_command("loadstone-pair", LAYOUT, FILES, "tap2", "127.0.0.1:9")[-2:] == [
        "--follow",
        "127.0.0.1:9",
    ]
    distant = replace(LAYOUT, round_trip_ms=0.3)
    assert build_agent_command("loadstone-pair", distant, FILES, "tap2", "127.0.0.1:9")[-2:] == ["--delay-us", "150"]
    assert "--delay-us" not in build_agent_command("loadstone-pair", distant, FILES, "tap1", None)
    assert "--patience-ms 500" in " ".join(alone)
    patient = replace(LAYOUT, silence_ms=3000)
    assert "--patience-ms 3000" in " ".join(build_agent_command("loadstone-pair", patient, FILES, "tap1", None))
    slow = replace(LAYOUT, link_mbits=2.5)
    assert build_agent_command("loadstone-pair", slow, FILES, "tap2", "127.0.0.1:9")[-2:] == [
        "--link-bytes-per-s",
        "312500",
    ]


def test_a_side_whose_other_is_on_another_host_has_papers_a_witness_and_a_shorter_line() -> None:
    apart = RemotePeer("10.0.0.2", "10.0.0.4:99", Path("/p/c"), Path("/p/k"), Path("/p/a"))
    layout = replace(LAYOUT, remote=apart, nic=replace(LAYOUT.nic, mtu=1450))
    words = " ".join(build_agent_command("loadstone-pair", layout, FILES, "tap1", None))
    assert "--witness 10.0.0.4:99 --listen 10.0.0.2:0" in words
    assert f"--tap-in /run/netns/{LAYOUT.nic.namespace}" in words
    assert "--certificate /p/c --key /p/k --authority /p/a" in words
    assert "--store" not in words and "--store /run/p/store" in " ".join(
        build_agent_command("loadstone-pair", LAYOUT, FILES, "tap1", None)
    )
    assert ",host_mtu=1450" in " ".join(build_qemu_command(layout, Mode.RECORD, FILES, Path("/c")))
    assert "host_mtu" not in " ".join(build_qemu_command(LAYOUT, Mode.RECORD, FILES, Path("/c")))


def test_a_machine_of_a_distribution_loads_the_modules_that_its_packages_need() -> None:
    image = replace(LAYOUT.image, name="debian+nfs-common")
    assert "loadstone.modules=nfs" in build_kernel_line(replace(LAYOUT, image=image))
    assert "loadstone.modules" not in build_kernel_line(LAYOUT)


def test_what_was_held_back_is_disclosed_once_it_is_known() -> None:
    metrics = {
        "held_ms": {"p50": 0.2, "max": 41.5},
        "frames": 93,
        "lag_ms": 3.14,
        "held_curve": [[0.2, 0.5]],
        "log_bytes": 900,
        "wire_bytes": 70,
    }
    assert disclose_metrics({}) == {}
    assert disclose_metrics(metrics | {"frames": 0}) == {}, "a side that has just taken over has held nothing"
    assert disclose_metrics(metrics)["outputs_held_ms"] == "p50 0.20, max 41.50, of 93 frames"
    assert disclose_metrics(metrics)["log_bytes"] == "900, 70 on the wire"


def test_a_disk_is_reached_over_its_agent_where_there_is_a_log_and_as_a_file_where_there_is_none() -> None:
    layout = replace(LAYOUT, disk=PairDisk(64))
    booted, recorded = (
        " ".join(build_qemu_command(layout, mode, FILES, Path("/c"))) for mode in (Mode.NONE, Mode.RECORD)
    )
    assert "file=/run/p/a.disk,id=disk" in booted
    assert "blkreplay" not in booted
    assert "file=nbd+unix:///rustnbd?socket=/run/p/a.nbd,id=stored" in recorded
    assert "driver=blkreplay,if=none,image=stored,id=disk" in recorded
    assert "--disk-socket /run/p/a.nbd" in " ".join(build_agent_command("loadstone-pair", layout, FILES, "tap1", None))


def test_a_disk_that_both_sides_share_is_one_file_and_its_agents_know() -> None:
    layout = replace(LAYOUT, disk=PairDisk(64, Disks.SHARED, Reads.SECONDARY))
    files = [build_side_files(layout, Path("/run/p"), name) for name in ("a", "b")]
    words = " ".join(build_agent_command("loadstone-pair", layout, files[0], "tap1", None))
    assert "--disk /run/p/store/disk --disk-socket /run/p/a.nbd --shared --reads secondary" in words
    assert files[0].disk == files[1].disk
    assert files[0].own_disk == []
    assert "shared" not in " ".join(
        build_agent_command("loadstone-pair", replace(LAYOUT, disk=PairDisk(64)), FILES, "t", None)
    )


@pytest.mark.parametrize(
    ("disk", "is_logged"),
    [
        (PairDisk(64, Disks.SHARED, Reads.LOG), True),
        (PairDisk(64, Disks.SHARED, Reads.SECONDARY), False),
        (PairDisk(64, Disks.REPLICATED, Reads.LOG), False),
        (PairDisk(0, Disks.SHARED, Reads.LOG), False),
    ],
)
def test_reads_come_with_the_log_of_a_shared_disk_alone(disk: PairDisk, is_logged: bool) -> None:
    assert disk.has_logged_reads is is_logged


def test_what_means_nothing_for_a_pairs_disk_is_refused() -> None:
    assert not describe_idle_settings(True, PairSettings(disks=Disks.SHARED, reads=Reads.SECONDARY))
    assert not describe_idle_settings(False, PairSettings())
    assert "disk=64" in describe_idle_settings(False, PairSettings(disks=Disks.SHARED))
    assert "disks=shared" in describe_idle_settings(True, PairSettings(reads=Reads.SECONDARY))
    # Both sides of a comparison may share the settings of a channel that one of them has not.
    channel = {"silence_ms": 900, "round_trip_ms": 1, "link_mbits": 1}
    assert not describe_idle_settings(True, PairSettings(protected=False, **channel))


def test_memory_is_locked_where_that_is_allowed_and_a_pair_is_made() -> None:
    layout = replace(LAYOUT, is_locked=True)
    assert "mem-lock=on" in " ".join(build_qemu_command(layout, Mode.RECORD, FILES, Path("/c")))
    assert "mem-lock=off" in " ".join(build_qemu_command(layout, Mode.NONE, FILES, Path("/c")))


@pytest.mark.parametrize(
    ("names", "clocks_mhz", "found"),
    [
        (["x", "x"], [3000.0, 3000.0], []),
        (["x", "y"], [], ["processor models"]),
        (["x"], [3000.0, 2599.0], ["clocks"]),
        (["x"], [3000.0, 2600.0], []),
    ],
)
def test_processors_that_differ_are_told_and_refuse_nothing(
    names: list[str], clocks_mhz: list[float], found: list[str]
) -> None:
    told = find_unlike(names, clocks_mhz)
    assert [one.matter for one in told] == found
    assert explain_refusal(told) == ""
