"""The words that the QEMU of one side is started with, and those of the agent beside it. Pure.

QEMU 7.2.22 of Debian 12 records and replays what one virtual processor does, emulated: instructions are counted, time
is the guest's own, and every input goes through a filter that logs it (docs/devel/replay.rst of QEMU). What cannot be
replayed is left out: no serial port is written to, no random numbers come from the host, the network card sends by a
timer.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path

from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.pair.disk import NO_PAIR_DISK, SILENCE_MS, PairDisk, build_agent_options, build_qemu_options
from loadstone.platforms.pair.mode import Mode
from loadstone.platforms.vm.command import KERNEL_LINE, QEMU, build_module_argument
from loadstone.platforms.vm.image import Image

AGENT_PORT = 9
"""Port of the machine's network that its agent listens at; no service may have one below 1024."""
SHIFT = 1
"""An instruction takes two to this power nanoseconds of the guest's time: 500 million a second."""
CLOCK_KHZ = 1_000_000
"""The time stamp counter counts nanoseconds of the guest's time."""
QUIET = (
    f"tsc=reliable tsc_early_khz={CLOCK_KHZ} lpj=4000000 nolapic_timer transparent_hugepage=never random.trust_cpu=off"
)
"""What keeps the kernel from waiting in loops, each turn of which would be an event, and from what differs between
replicas."""
CARD = "line"
CARD_MAC = "52:54:00:00:00:00"
"""Hardware address that the card starts with. The machine sets its own, so that a saved state has none of a machine."""
MICROSECONDS_EACH_WAY = 500
BYTES_PER_MBIT = 125_000
"""Of each millisecond of a round trip."""


@dataclass(frozen=True)
class SideFiles:
    """The sockets and files of one side."""

    folder: Path
    name: str
    shared_disk: Path | None = None
    """The disk that another side has too, where it does."""

    def _path(self, ending: str) -> Path:
        return self.folder / f"{self.name}.{ending}"

    @property
    def qmp(self) -> Path:
        """Where QEMU is controlled."""
        return self._path("qmp")

    @property
    def inlet(self) -> Path:
        """Where it takes frames."""
        return self._path("in")

    @property
    def outlet(self) -> Path:
        """Where it gives frames."""
        return self._path("out")

    @property
    def control(self) -> Path:
        """Where its agent takes orders and reports."""
        return self._path("ctl")

    @property
    def record(self) -> Path:
        """Which processes it has, for the next keeper."""
        return self._path("side")

    @property
    def memory(self) -> Path:
        """What it shares with its agent."""
        return self._path("log")

    @property
    def disk(self) -> Path:
        """What its machine's disk holds."""
        return self.shared_disk or self._path("disk")

    @property
    def own_disk(self) -> list[Path]:
        """The same, where no other side has it."""
        return [] if self.shared_disk else [self.disk]

    @property
    def disk_socket(self) -> Path:
        """Where its agent serves that to QEMU."""
        return self._path("nbd")

    @property
    def state(self) -> Path:
        """The state that new sides of this host begin with."""
        return self.folder / "state"

    @property
    def store(self) -> Path:
        """The folder that sides of one host share: who serves, and their disk where it is one."""
        return self.folder / "store"

    def with_side(self, name: str) -> "SideFiles":
        """Those of another side in the same place."""
        return replace(self, name=name)


@dataclass(frozen=True)
class RemotePeer:
    """What a side is told whose other side is on another host."""

    address: str
    """Its own host's, where its agent waits for the other's."""
    witness: str
    """HOST:PORT of who decides which side goes on."""
    certificate: Path
    key: Path
    authority: Path


@dataclass(frozen=True)
class PairLayout:
    """Everything that both machines of a pair are made from."""

    name: str
    memory_mib: int
    image: Image
    nic: NetworkInterface
    is_locked: bool = False
    """Whether its memory is kept from being swapped out."""
    disk: PairDisk = NO_PAIR_DISK
    remote: RemotePeer | None = None
    """None where both sides are on one host."""
    is_cold: bool = False
    """Whether it boots although there is a saved state of its kind."""
    is_protected: bool = True
    """Whether a second machine follows it."""
    lease_s: int = 0
    """Seconds that it lives on without a keeper."""
    silence_ms: int = SILENCE_MS
    """After which a side suspects the other."""
    round_trip_ms: float = 0.0
    """Added to the round trip between both sides."""
    link_mbits: float = 0.0
    """Speed of the link between both sides; 0 without a limit."""

    @property
    def is_restorable(self) -> bool:
        """Whether it may begin with a saved state."""
        return not self.is_cold


def build_qemu_command(
    layout: PairLayout, mode: Mode, files: SideFiles, console: Path, state: int | None = None
) -> list[str]:
    """Returns QEMU's command line. The machine resumes from `state`, the number of an open file, if it is given."""
    counting = f"shift={SHIFT},sleep=on" + (f",rr={mode.value},rrfile={files.memory}" if mode.is_logged else "")
    argv = [QEMU, "-name", f"{layout.name}-{files.name}", "-nodefaults", "-no-user-config", "-display", "none"]
    argv += ["-no-reboot", "-machine", "pc", "-accel", "tcg,tb-size=64", "-icount", counting, "-rtc", "clock=vm"]
    # A state that was kept while stopped goes on by itself where it is loaded, and QEMU sends nothing of its own.
    argv += ["-global", "migration.store-global-state=off", "-global", "migration.announce-rounds=0"]
    argv += ["-smp", "1", "-m", f"{layout.memory_mib}M"]
    argv += ["-overcommit", f"mem-lock={'on' if layout.is_locked and mode is not Mode.NONE else 'off'}"]
    argv += layout.image.list_boot_arguments(build_kernel_line(layout))
    argv += ["-chardev", f"file,id=console,path={console}", "-device", "isa-serial,chardev=console"]
    argv += ["-chardev", f"socket,id=qmp,path={files.qmp},server=on,wait=off", "-mon", "chardev=qmp,mode=control"]
    argv += _network(layout, files, is_heard=mode is not Mode.NONE)
    if layout.disk.mib:
        argv += build_qemu_options(layout.disk, files.disk, files.disk_socket, is_logged=mode is not Mode.NONE)
    return argv if state is None else [*argv, "-incoming", f"fd:{state}"]


def _network(layout: PairLayout, files: SideFiles, is_heard: bool) -> list[str]:
    """One card. A filter that is declared later sees what the guest sends first: it goes to the agent on both sides."""
    to = f"socket,id=outlet,path={files.outlet}" + ("" if is_heard else ",server=on,wait=off")
    mtu = f",host_mtu={layout.nic.mtu}" if layout.nic.mtu else ""
    ends = f"local.type=unix,local.path={files.inlet},remote.type=unix,remote.path={files.inlet}-none"
    return [
        *("-netdev", f"dgram,id={CARD},{ends}"),
        *("-device", f"virtio-net-pci,tx=timer,netdev={CARD},mac={CARD_MAC}{mtu}"),
        *("-chardev", to),
        *("-object", f"filter-replay,id=recorded,netdev={CARD}"),
        *("-object", f"filter-redirector,id=sent,netdev={CARD},queue=rx,outdev=outlet"),
    ]


def build_kernel_line(layout: PairLayout) -> str:
    """Returns the kernel's command line, which is the same for all addresses: the machine is told its own later."""
    listen = f"loadstone.listen={AGENT_PORT}"
    return f"{KERNEL_LINE} {QUIET} {listen}{build_module_argument(layout.image)}"


def build_agent_command(program: str, layout: PairLayout, files: SideFiles, tap: str, follow: str | None) -> list[str]:
    """The words of the agent beside a machine; one that follows is told its primary's address."""
    argv = [program, "agent", "--name", files.name, "--memory", str(files.memory)]
    argv += ["--inlet", str(files.inlet), "--outlet", str(files.outlet), "--tap", tap, "--mac", layout.nic.mac]
    argv += ["--patience-ms", str(layout.silence_ms)]
    if layout.disk.mib:
        argv += build_agent_options(layout.disk, files.disk, files.disk_socket)
    argv += (
        ["--store", str(files.store)] if layout.remote is None else _remote_options(layout.remote, layout.nic.namespace)
    )
    if follow is None:
        return argv
    delay_us = round(MICROSECONDS_EACH_WAY * layout.round_trip_ms)
    bytes_per_s = math.ceil(layout.link_mbits * BYTES_PER_MBIT)
    delaying = ["--delay-us", str(delay_us)] if delay_us else []
    limiting = ["--link-bytes-per-s", str(bytes_per_s)] if bytes_per_s else []
    return [*argv, "--follow", follow, *delaying, *limiting]


def list_control_options(layout: PairLayout, files: SideFiles) -> list[str]:
    """How an agent is kept: where keepers reach it, how long it lives without one, and where QEMU is continued whose
    keeper is gone.
    """
    return ["--control", str(files.control), "--lease-s", str(layout.lease_s), "--monitor", str(files.qmp)]


def _remote_options(remote: RemotePeer, namespace: str) -> list[str]:
    """The agent stays in its host's own network, and has the tap that is in the testbed's."""
    argv = ["--witness", remote.witness, "--listen", f"{remote.address}:0", "--tap-in", find_namespace_file(namespace)]
    return [*argv, *build_credential_options(remote.certificate, remote.key, remote.authority)]


def build_credential_options(certificate: Path, key: Path, authority: Path) -> list[str]:
    """Returns the options for the credentials of a program that connects to another host."""
    return ["--certificate", str(certificate), "--key", str(key), "--authority", str(authority)]


def find_namespace_file(name: str) -> str:
    """Returns the file by which a network namespace is entered (ip-netns(8))."""
    return f"/run/netns/{name}"
