"""Saved states of machines: what names them, how they are kept, and what becomes of those that are broken."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from loadstone.cli.options import make_placement
from loadstone.model.errors import UsageError
from loadstone.platforms import journal
from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.kind import get_own_settings
from loadstone.platforms.pair.command import PairLayout
from loadstone.platforms.pair.disk import PairDisk
from loadstone.platforms.pair.saved import copy_saved, keep_saved, pair_key
from loadstone.platforms.registry import read_machine
from loadstone.platforms.vm import command as commands
from loadstone.platforms.vm import saved_state, state_key
from loadstone.platforms.vm.command import Layout, Sockets
from loadstone.platforms.vm.host_identity import HostIdentity, read_host_identity
from loadstone.platforms.vm.image import Image
from loadstone.platforms.vm.saved_state import (
    HEADER_BYTES,
    UNFINISHED_PREFIX,
    UnusableStateError,
    create_state,
    open_state,
    remove_state,
    state_path,
)
from loadstone.platforms.vm.settings import Accelerator, RestorableSettings

HOST = HostIdentity("qemu 1", "processor 1")
IMAGE = Image("minimal", "0", Path("/k"), "6.1", Path("/i"))


def nic(number: int) -> NetworkInterface:
    address = f"10.200.0.{number}"
    return NetworkInterface("public", f"tap{number}", "ls1", address, f"52:54:0a:c8:00:{number:02x}", "10.200.0.1")


def layout(nics: int = 1, image: Image = IMAGE, **settings: object) -> Layout:
    sockets = Sockets(Path("/q"), Path("/a"), Path("/c"))
    machine = read_machine({"platform": "vm", **settings})
    disk = Path("/d.qcow2") if image.root or machine.disk else None
    return Layout("web", machine, Accelerator.TCG, image, sockets, [nic(number) for number in range(nics)], disk)


def key(made: Layout, host: HostIdentity = HOST) -> str:
    return state_key.state_key(made, host)


def test_what_belongs_to_one_machine_does_not_change_the_key() -> None:
    other = replace(
        layout(disk=64),
        name="backend",
        image=replace(IMAGE, kernel=Path("/cache/k"), initial=Path("/cache/i")),
        sockets=Sockets(Path("/q2"), Path("/a2"), Path("/c2")),
        nics=[nic(7)],
        disk=Path("/other.qcow2"),
    )
    assert key(other) == key(layout(disk=64))
    assert key(layout(pin="0", mbit_per_s=10, count=3, restart=True)) == key(layout())


@pytest.mark.parametrize(
    "other",
    [
        layout(memory=192),
        layout(cpus=2),
        layout(nics=2),
        layout(nics=0),
        layout(nic="vmxnet3"),
        layout(disk=64),
        layout(data_disk=64),
        layout(pages="huge"),
        layout(image=replace(IMAGE, digest="1")),
        layout(image=replace(IMAGE, kernel_version="6.2")),
        layout(image=replace(IMAGE, root=Path("/root.qcow2"))),
        layout(image=replace(IMAGE, name="debian+nfs-common")),
        replace(layout(), accelerator=Accelerator.KVM),
    ],
)
def test_everything_that_determines_a_state_changes_its_key(other: Layout) -> None:
    assert key(other) != key(layout())


def test_disks_are_told_apart_by_size_threads_and_cache() -> None:
    kinds = [layout(disk=64), layout(disk=128), layout(disk=64, io_threads=1), layout(disk=64, cache="writethrough")]
    assert len({key(one) for one in kinds}) == len(kinds)


def test_the_host_changes_the_key_its_processor_under_kvm_alone() -> None:
    emulated, virtualized = layout(), replace(layout(), accelerator=Accelerator.KVM)
    other_build, other_processor = replace(HOST, qemu="qemu 2"), replace(HOST, processor="processor 2")
    assert key(emulated, other_build) != key(emulated)
    assert key(emulated, other_processor) == key(emulated)
    assert key(virtualized, other_processor) != key(virtualized)


def test_kernel_arguments_and_the_format_change_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(layout())
    with monkeypatch.context() as changed:
        changed.setattr(state_key, "STATE_FORMAT", 0)
        assert key(layout()) != before
    monkeypatch.setattr(commands, "build_kernel_line", lambda layout: "console=ttyS1")
    assert key(layout()) != before


def test_another_build_of_qemu_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / commands.QEMU
    monkeypatch.setenv("PATH", str(tmp_path))
    program.write_text("one")
    program.chmod(0o755)
    before = read_host_identity()
    program.write_text("another")
    assert read_host_identity().qemu != before.qemu
    assert "Linux" in before.processor


PAIR = PairLayout("one", 192, IMAGE, nic(2))


@pytest.mark.parametrize(
    "other",
    [
        replace(PAIR, memory_mib=256),
        replace(PAIR, nic=replace(nic(2), mtu=1450)),
        replace(PAIR, image=replace(IMAGE, digest="1")),
        replace(PAIR, is_locked=True),
        replace(PAIR, disk=PairDisk(64)),
        replace(PAIR, disk=PairDisk(1 << 14)),
    ],
)
def test_everything_that_determines_a_pairs_state_changes_its_key(other: PairLayout) -> None:
    assert pair_key(other, HOST) != pair_key(PAIR, HOST)
    assert pair_key(PAIR, HOST) != key(layout())


def test_a_pair_is_restored_unless_it_is_cold() -> None:
    assert PAIR.is_restorable
    assert replace(PAIR, disk=PairDisk(64)).is_restorable
    assert not replace(PAIR, is_cold=True).is_restorable
    assert pair_key(replace(PAIR, name="other"), HOST) == pair_key(PAIR, HOST)


def test_pairs_of_all_networks_share_a_state() -> None:
    elsewhere = NetworkInterface("private", "tap9", "ns9", "10.9.0.7", "52:54:0a:09:00:07", "10.9.0.1", twin="tap8")
    assert pair_key(replace(PAIR, nic=elsewhere), HOST) == pair_key(PAIR, HOST)


def test_a_card_that_cannot_be_given_an_address_keeps_its_machine_from_being_restored() -> None:
    assert layout().is_restorable
    assert not layout(cold=True).is_restorable
    assert not layout(nic="vmxnet3").is_restorable


def test_the_option_reaches_all_machines_that_could_be_restored() -> None:
    placement = make_placement("vm", ["memory=192"], "platform=pair", cold=True)
    assert get_own_settings(placement.machine, RestorableSettings).cold
    assert get_own_settings(placement.backend, RestorableSettings).cold
    assert not get_own_settings(make_placement("vm", (), None).machine, RestorableSettings).cold
    with pytest.raises(UsageError, match=r"--cold applies to machines that are booted\. Add --platform vm or pair"):
        make_placement("process", (), None, cold=True)


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ResourceJournal:
    """A journal, and a cache folder of its own in which there is room for states."""
    monkeypatch.setenv("LOADSTONE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(saved_state, "FREE_BYTES", 0)
    return ResourceJournal(tmp_path, -1, (tmp_path / journal.JOURNAL).open("w", buffering=1))


def keep(name: str, notes: ResourceJournal, content: bytes = b"memory" * 1000) -> None:
    source = notes.folder / "source"
    source.write_bytes(content)
    keep_saved(name, source, notes)


def test_a_state_is_kept_whole_and_read_again(notes: ResourceJournal) -> None:
    with create_state("k", notes) as writer:
        assert writer
        source = notes.folder / "source"
        source.write_bytes(b"memory" * 1000)
        with source.open("rb", buffering=0) as file:
            writer.copy(lambda piece: file.readinto(piece) or 0)
        assert not state_path("k").exists(), "it has its name before it is complete"
        writer.finish({"kernel": "6.1"})
    with open_state("k") as state:
        assert state
        state.verify()
        assert os.read(state.file.fileno(), 12) == b"memorymemory", "QEMU would begin elsewhere"
        assert state.header.hello == {"kernel": "6.1"}
        assert state.about.startswith("restored from a state saved at 20")
    assert state_path("k").stat().st_mode & 0o077 == 0
    assert not list(state_path("k").parent.glob(f"{UNFINISHED_PREFIX}*"))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def damage(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(HEADER_BYTES + 100)
        file.write(b"?")


def mistake(path: Path) -> None:
    header = json.loads(path.read_bytes()[:HEADER_BYTES])
    with path.open("r+b") as file:
        file.write(json.dumps({**header, "key": "x"}).encode().ljust(HEADER_BYTES))


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (truncate, "bytes instead of"),
        (damage, "checksum is wrong"),
        (mistake, "another kind of machine"),
        (lambda path: path.write_bytes(b""), "no valid header"),
        (lambda path: path.write_bytes(b"\0" * 9000), "no valid header"),
    ],
)
def test_a_state_that_is_not_what_was_kept_is_refused_and_replaced(
    harm: Callable[[Path], object], why: str, notes: ResourceJournal
) -> None:
    keep("k", notes)
    harm(state_path("k"))
    with pytest.raises(UnusableStateError, match=why), open_state("k") as state:
        assert state
        state.verify()
    assert why in copy_saved("k", notes.folder / "copy")
    assert not state_path("k").exists()
    keep("k", notes)
    assert copy_saved("k", notes.folder / "copy").startswith("restored")
    assert (notes.folder / "copy").read_bytes() == b"memory" * 1000


def test_two_processes_do_not_write_one_state_at_once(notes: ResourceJournal) -> None:
    with create_state("k", notes) as first, create_state("k", notes) as second, create_state("other", notes) as third:
        assert first
        assert second is None
        assert third


def test_the_states_used_last_stay_within_number_and_size(
    notes: ResourceJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_state, "MOST_STATES", 2)
    for number, name in enumerate("abc"):
        keep(name, notes)
        os.utime(state_path(name), (number, number))
        if name == "b":
            with open_state("a"):
                pass  # now used after b
    assert [name for name in "abc" if state_path(name).exists()] == ["a", "c"]
    monkeypatch.setattr(saved_state, "STATES_MOST_BYTES", 12_000)
    keep("d", notes)
    assert [name for name in "abcd" if state_path(name).exists()] == ["d"]


def test_a_state_that_finds_no_room_is_not_kept(notes: ResourceJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_state, "STATES_MOST_BYTES", 100)
    keep("large", notes)
    monkeypatch.setattr(saved_state, "FREE_BYTES", 1 << 62)
    keep("full", notes)
    monkeypatch.setenv("LOADSTONE_CACHE_DIR", "/proc/no-such-folder")
    keep("nowhere", notes)
    remove_state("nowhere")
    monkeypatch.undo()
    assert not list((notes.folder / "cache").iterdir())


def test_what_a_killed_process_left_unfinished_is_removed_but_not_what_another_writes(notes: ResourceJournal) -> None:
    left = state_path("k").with_name(f"{UNFINISHED_PREFIX}left")
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    with create_state("written", notes) as writer:
        assert writer
        noted = [{"kind": "unfinished", "path": str(path)} for path in (left, writer.path)]
        assert [journal.UNDO["unfinished"](entry) for entry in noted] == [f"unfinished file {left.name}", ""]
        assert writer.path.exists()
        assert not left.exists()
    left.write_bytes(b"half")
    keep("k", notes)
    assert not left.exists()
