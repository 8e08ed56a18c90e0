"""Machines restored from a saved state: each is its own, and a state that cannot be used costs a boot and no more."""

import asyncio
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
from pyroute2 import IPRoute

from loadstone.host import runtime
from loadstone.host.cache import find_cache_folder
from loadstone.model.fault import FaultKind
from loadstone.model.machine import DEBIAN, MINIMAL, PUBLIC
from loadstone.platforms import fabric, journal
from loadstone.platforms.contract import Machine
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.registry import read_machine
from loadstone.platforms.subnets import PREFIX
from loadstone.platforms.vm import saved_state
from loadstone.platforms.vm.agent import Agent
from loadstone.platforms.vm.image import get_image
from loadstone.platforms.vm.machine import VirtualMachine
from loadstone.platforms.vm.saved_state import HEADER_BYTES, STATE_PREFIX, UNFINISHED_PREFIX
from loadstone.services import reference
from loadstone.testbed.context import open_testbed
from tests.contract.conftest import get, nothing_is_left  # noqa: F401
from tests.integration.conftest import LoadstoneRunner, loadstone, newest, page, report  # noqa: F401
from tests.verdicts import WINDOW
from tests.vm.test_failures import small_disk, wait_for
from tests.waiting import LONGEST_S, PATIENT_MS, WAIT_S

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and mounts of their own need root"),
    pytest.mark.slow("virtual machines start, and QEMU emulates them"),
    pytest.mark.own_network,
]

SMALL = "platform=vm,memory=192"
RESTORED, BOOTED = "restored from a state saved at 20", "booted"


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of this module's own, with the images that there are."""
    folder = tmp_path_factory.mktemp("cache")
    borrow_images(folder)
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("LOADSTONE_CACHE_DIR", str(folder))
        yield folder


def borrow_images(folder: Path) -> None:
    for name in (MINIMAL, DEBIAN):
        get_image(name)
    for kept in find_cache_folder().iterdir():
        if kept.is_dir():
            (folder / kept.name).symlink_to(kept)


@asynccontextmanager
async def up(folder: Path, *machines: str) -> AsyncIterator[list[Machine]]:
    async with open_testbed(folder) as base:
        named = zip(("one", "two"), machines, strict=False)
        yield [await base.start_machine(name, read_machine(words), (PUBLIC,)) for name, words in named]


def started(folder: Path, words: str = SMALL) -> str:
    """Puts a machine up, and takes it down when it has served; how it started."""

    async def play() -> str:
        async with up(folder, words) as (machine,):
            await serves(machine)
            return str(machine.facts["started"])

    return asyncio.run(play())


async def serves(machine: Machine) -> None:
    service = await machine.start("backend", reference.build_backend_command(machine.listen, 1))
    ready = reference.read_ready(service.first_line)
    assert ready.http
    assert await asyncio.to_thread(get, await machine.find_endpoint(ready.http.port))


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{STATE_PREFIX}*"))


PREPARED: dict[str, Path] = {}


def prepare(folder: Path, states: Path, words: str = SMALL) -> Path:
    """A state of machines like this; the first time, or when it is gone, a machine boots for it."""
    if not (words in PREPARED and PREPARED[words].is_file()):
        before = kept(states)
        assert started(folder, words) == BOOTED
        (PREPARED[words],) = set(kept(states)) - set(before)
    return PREPARED[words]


def hardware_addresses(machines: Sequence[Machine]) -> list[str]:
    """As the host has learned them from the machines themselves."""
    with IPRoute() as routes:
        return [str(routes.get_neighbours(dst=one.address)[0].get_attr("NDA_LLADDR")) for one in machines]


def test_two_machines_restored_from_one_state_are_two_and_reach_each_other(tmp_path: Path, states: Path) -> None:
    prepare(tmp_path, states)

    async def play() -> None:
        async with up(tmp_path, SMALL, SMALL) as (one, two):
            assert [machine.facts["started"][: len(RESTORED)] for machine in (one, two)] == [RESTORED] * 2
            assert all(machine.facts["boot_s"] > 0 for machine in (one, two))
            service = await two.start("backend", reference.build_backend_command(two.listen, 1))
            ready = reference.read_ready(service.first_line)
            assert ready.http
            way = await one.find_route(two, ready.http.port)
            assert way
            web = await one.start("web", reference.build_web_command(one.listen, str(way), 1, [one.address]))
            at = reference.read_ready(web.first_line).http
            assert at
            assert await asyncio.to_thread(get, await one.find_endpoint(at.port))
            assert await asyncio.to_thread(get, await two.find_endpoint(ready.http.port))
            learned = await asyncio.to_thread(hardware_addresses, (one, two))
            assert learned == [machine.context.nics[PUBLIC].mac for machine in (one, two)]  # type: ignore[attr-defined]
            assert len({machine.facts["boot_id"] for machine in (one, two)}) == 2, "one generator of random numbers"

    asyncio.run(play())


def test_debian_machines_restored_from_one_state_have_random_bytes_and_disks_of_their_own(
    tmp_path: Path, states: Path
) -> None:
    debian = f"platform=vm,memory=256,image={DEBIAN}"
    look = (
        "echo $(head -c 32 /dev/urandom | sha256sum) $(cat /proc/sys/kernel/random/uuid) "
        "$(cat /sys/class/net/eth0/address) $(ls /marked 2>/dev/null || echo fresh) $(stat -f -c %T /); touch /marked"
    )

    async def play() -> None:
        async with up(tmp_path, debian, debian) as (one, two):
            assert two.facts["started"].startswith(RESTORED)
            said = [(await machine.start("look", ["sh", "-c", look])).first_line.split() for machine in (one, two)]
            assert [words[4:] for words in said] == [["fresh", "ext2/ext3"]] * 2
            for first, second in list(zip(*said, strict=True))[:1] + list(zip(*said, strict=True))[2:4]:
                assert first != second

    before = len(kept(states))
    asyncio.run(play())  # the first boots
    assert len(kept(states)) == before + 1


async def counters_of(machine: Machine) -> dict[str, Any]:
    """What the machine's kernel counts; a host with other work may take several attempts to get it."""
    for _ in range(20):
        if inside := await machine.read_inside():
            return inside
    raise AssertionError("the machine's agent did not answer")


def test_a_disk_for_what_services_keep_is_mounted_in_a_restored_machine(tmp_path: Path, states: Path) -> None:
    words = f"{SMALL},disk=64,cpus=2"
    prepare(tmp_path, states, words)

    async def play() -> None:
        async with up(tmp_path, words) as (machine,):
            assert machine.facts["started"].startswith(RESTORED)
            await machine.write("note", "x" * 300_000)
            await serves(machine)
            inside = await counters_of(machine)
            assert inside["disk"]["read_bytes"] > 0, "no file system was mounted"

    asyncio.run(play())


def test_a_restored_machine_has_the_time_of_the_host_not_that_of_its_state(
    tmp_path: Path, states: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path, states)
    time.sleep(2)

    async def clock() -> dict[str, float]:
        async with up(tmp_path, SMALL) as (machine,):
            assert machine.facts["started"].startswith(RESTORED)
            inside = await counters_of(machine)
            assert abs(inside["unix_ns"] / 1e9 - time.time()) < 10 or is_left
            return dict(machine.facts["clock"])

    is_left = False
    told = asyncio.run(clock())
    assert abs(told["ahead_s"]) < 0.1 + told["within_s"]

    async def leave(agent: Agent) -> None:
        """The clock stays as it was."""

    is_left = True
    monkeypatch.setattr(Agent, "set_clock", leave)
    assert asyncio.run(clock())["ahead_s"] < -2


def test_machines_on_a_user_mode_network_are_restored_too(tmp_path: Path, states: Path) -> None:
    prepare(tmp_path, states, f"{SMALL},network=user")
    assert started(tmp_path, f"{SMALL},network=user").startswith(RESTORED)


def test_a_cold_machine_boots_and_keeps_no_state(tmp_path: Path, states: Path) -> None:
    prepare(tmp_path, states)
    before = kept(states)
    assert started(tmp_path, f"{SMALL},cold=true") == BOOTED
    assert kept(states) == before


def truncated(state: Path) -> None:
    os.truncate(state, state.stat().st_size // 2)


def of_something_else(state: Path) -> None:
    """With a header as it should be, so that QEMU itself must refuse the rest."""
    rest = b"\0" * (state.stat().st_size - HEADER_BYTES)
    header = state.read_bytes()[:HEADER_BYTES]
    before = hashlib.sha256(state.read_bytes()[HEADER_BYTES:]).hexdigest()
    state.write_bytes(header.replace(before.encode(), hashlib.sha256(rest).hexdigest().encode()) + rest)


@pytest.mark.parametrize(
    ("harm", "why"), [(truncated, "bytes instead of"), (of_something_else, "load of migration failed")]
)
def test_a_state_that_cannot_be_restored_costs_a_boot_and_is_replaced(
    harm: object, why: str, tmp_path: Path, states: Path
) -> None:
    state = prepare(tmp_path, states)
    assert callable(harm)
    harm(state)
    broken = state.stat().st_ino
    said = started(tmp_path)
    assert said.startswith("booted: the saved state could not be restored, ")
    assert why in said
    assert state.stat().st_ino != broken
    assert started(tmp_path).startswith(RESTORED)


def test_a_disk_without_room_for_a_state_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(tmp_path / "cache", "20m") as folder:
        borrow_images(folder)
        monkeypatch.setenv("LOADSTONE_CACHE_DIR", str(folder))
        monkeypatch.setattr(saved_state, "FREE_BYTES", 0)  # it is found out while the state is written
        assert started(tmp_path) == BOOTED
        assert not [path for path in folder.iterdir() if "state" in path.name]


KILLS = 5
"""Attempts at most to kill a process while it saves, of which one is enough: a busy host may be late."""
LAB = """
import asyncio, sys
from pathlib import Path
from loadstone.platforms import journal
from loadstone.platforms.registry import read_machine
from loadstone.testbed.context import open_testbed

async def play():
    async with open_testbed(Path(sys.argv[1])) as base:
        await base.start_machine("one", read_machine(sys.argv[2]), ("public",))
        await asyncio.sleep(60)

asyncio.run(play())
"""


def test_a_process_that_is_killed_while_it_saves_a_state_leaves_nothing(
    tmp_path: Path, states: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = prepare(tmp_path, states)
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "r"))
    for _ in range(KILLS):
        state.unlink(missing_ok=True)
        lab = subprocess.Popen([sys.executable, "-c", LAB, str(tmp_path), SMALL])
        until = time.monotonic() + WAIT_S
        while not list(states.glob(f"{UNFINISHED_PREFIX}*")) and time.monotonic() < until:
            time.sleep(0.001)
        lab.kill()
        lab.wait()
        if list(states.glob(f"{UNFINISHED_PREFIX}*")):
            break
    assert list(states.glob(f"{UNFINISHED_PREFIX}*")), "each was killed too late"
    monkeypatch.setattr(runtime, "RUNTIME_PREFIX", "ls")
    assert any("unfinished file" in line for line in journal.reap())
    assert not list(states.glob(f"{UNFINISHED_PREFIX}*"))
    assert not PREPARED[SMALL].exists()
    assert not list((tmp_path / "r").glob("ls*"))


def test_a_machine_that_is_started_anew_after_its_death_boots(tmp_path: Path, states: Path) -> None:
    words = f"{SMALL},restart=true"  # does not change what the state is
    prepare(tmp_path, states)

    async def play() -> None:
        async with up(tmp_path, words) as (machine,):
            assert isinstance(machine, VirtualMachine)
            assert machine.facts["started"].startswith(RESTORED)
            await machine.fail(FaultKind.KILL_PRIMARY)
            while machine.live_unix_s is None:
                await asyncio.sleep(0.1)
            assert machine.facts["started"] == BOOTED
            assert machine.restarts == 1

    asyncio.run(play())


def test_a_study_says_which_of_its_machines_were_restored(
    tmp_path: Path,
    states: Path,
    loadstone: LoadstoneRunner,  # noqa: F811
) -> None:
    prepare(tmp_path, states)
    words = ["run", "support", "--sessions", "5", *WINDOW, "--machine", SMALL]
    loadstone(*words)
    facts = report(tmp_path)["manifest"]["machines"]["web"]["facts"]
    assert facts["started"].startswith(RESTORED)
    assert "started restored from a state saved at" in page(tmp_path)
    loadstone(*words, "--cold")
    assert report(tmp_path)["manifest"]["machines"]["web"]["facts"]["started"] == BOOTED


def choose_last_subnet(block: IPv4Network, ours: Iterator[IPv4Network]) -> IPv4Network:
    taken = set(ours)
    return next(subnet for subnet in reversed([*block.subnets(new_prefix=PREFIX)]) if subnet not in taken)


@pytest.mark.own_network
def test_both_sides_of_a_pair_begin_with_a_saved_state_and_replay_what_follows(
    tmp_path: Path, states: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identities: list[str] = []
    addresses: list[str] = []

    async def play() -> str:
        async with up(tmp_path, f"platform=pair,memory=192,silence_ms={PATIENT_MS}") as (machine,):
            assert isinstance(machine, PairMachine)
            await serves(machine)
            identities.append(machine.facts["boot_id"])
            addresses.append(machine.address)
            assert machine.is_protected
            follower = machine.follower
            assert follower
            await machine.fail(FaultKind.KILL_PRIMARY)
            await follower.wait_event("live")
            await machine.agent.ask("clock")
            told = [event["event"] for side in machine.sides for event in side.events]
            assert "diverged" not in told
            return str(machine.facts["started"])

    assert asyncio.run(play()) == BOOTED
    assert asyncio.run(play()).startswith(RESTORED)
    monkeypatch.setattr(fabric, "find_free_subnet", choose_last_subnet)
    assert asyncio.run(play()).startswith(RESTORED)
    assert len(set(identities)) == 3, "two pairs have one generator of random numbers"
    assert addresses[2] != addresses[0], "a pair of another network begins with the same state"


def test_a_signal_while_a_machine_is_restored_leaves_nothing(
    tmp_path: Path, states: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path, states)
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "r"))
    lab = subprocess.Popen([sys.executable, "-c", LAB, str(tmp_path), SMALL], stderr=subprocess.DEVNULL)
    wait_for(lambda: list((tmp_path / "r").glob("ls*/one.qmp")))
    lab.send_signal(signal.SIGINT)
    assert lab.wait(timeout=LONGEST_S) != 0
    assert not list((tmp_path / "r").glob("ls*"))
    assert PREPARED[SMALL].is_file()
