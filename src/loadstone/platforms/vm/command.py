"""From a declared machine to the words QEMU is started with. Pure. QEMU 7.2 is the reference."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadstone.model.machine import MachineSpec
from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.kind import own_settings
from loadstone.platforms.vm.image import NFS, NFS_PACKAGE, Image
from loadstone.platforms.vm.settings import Accelerator, Cache, Nic, Pages, VmSettings

QEMU = "qemu-system-x86_64"
PORT = "org.loadstone.agent"
"""Name of the agent's serial port; the agent looks for it."""
DISK = "/dev/vda"
"""The machine's disk, as its kernel names it."""
FILES = "/srv/loadstone"
"""The machine's folder for what services keep; on its data disk where it has one."""
TRANSLATION_MIB = 64
"""Memory for translated code of an emulated machine; QEMU's own choice is a gibibyte."""
USER_HOST = "10.0.2.2"
"""The host as a machine with user-mode network sees it (QEMU documentation, Network emulation)."""
USER_GUEST = "10.0.2.15"


@dataclass(frozen=True)
class Sockets:
    """Where QEMU and the agent are talked to, and where the console is kept."""

    qmp: Path
    agent: Path
    console: Path


SANDBOX = "on,obsolete=deny,spawn=deny,resourcecontrol=deny"
"""System calls that an escaped guest must not make."""
UNPRIVILEGED = "nobody"
"""Whom a hypervisor that root started becomes once its files and interfaces are open."""


@dataclass(frozen=True)
class Layout:
    """Everything that a machine is made from."""

    name: str
    spec: MachineSpec
    accelerator: Accelerator
    """As found: never `auto`."""
    image: Image
    sockets: Sockets
    nics: Sequence[NetworkInterface] = ()
    """None for user-mode network."""
    disk: Path | None = None

    @property
    def is_restorable(self) -> bool:
        """Whether the machine may begin with the saved state of another one: its cards can be given addresses."""
        return self.settings.nic is Nic.VIRTIO and not self.settings.cold

    @property
    def disk_place(self) -> str:
        """Where the machine mounts its disk: as its root, or for what services keep."""
        return "/" if self.image.root else FILES

    @property
    def settings(self) -> VmSettings:
        """Its own settings."""
        return own_settings(self.spec, VmSettings)


RESTORING = ("-incoming", "defer", "-global", "migration.announce-rounds=0")
"""What QEMU is told besides when it restores a saved state: it waits for the state, and does not announce the addresses
that the cards have in it."""


def command(layout: Layout) -> list[str]:
    """The words. The machine starts paused, so that its threads can be placed first."""
    spec = layout.spec
    argv = [QEMU, "-name", layout.name, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-S"]
    argv += ["-smp", str(spec.cpus or 1), "-m", f"{spec.memory}M", *_processor(layout), *_memory(layout)]
    argv += _confinement(is_root=os.geteuid() == 0)
    argv += ["-kernel", str(layout.image.kernel), "-initrd", str(layout.image.initial), "-append", kernel_line(layout)]
    argv += ["-chardev", f"file,id=console,path={layout.sockets.console}", "-serial", "chardev:console"]
    argv += ["-chardev", f"socket,id=qmp,path={layout.sockets.qmp}", "-mon", "chardev=qmp,mode=control"]
    argv += ["-chardev", f"socket,id=agent,path={layout.sockets.agent}", "-device", "virtio-serial-pci"]
    argv += ["-device", f"virtserialport,chardev=agent,name={PORT}", "-device", "virtio-rng-pci"]
    return [*argv, *_networks(layout), *_disk(layout)]


def _confinement(is_root: bool) -> list[str]:
    """Root becomes another user, which is a change of privileges; anybody else may not change theirs at all."""
    if is_root:
        return ["-sandbox", SANDBOX, "-runas", UNPRIVILEGED]
    return ["-sandbox", f"{SANDBOX},elevateprivileges=deny"]


def kernel_line(layout: Layout) -> str:
    """The kernel's command line: messages on the serial port, an end instead of a stand-still after a panic."""
    return f"console=ttyS0 panic=-1 quiet{module_word(layout.image)}"


def module_word(image: Image) -> str:
    """Returns the word of the kernel's command line that names further modules; empty where there are none."""
    return f" loadstone.modules={NFS}" if NFS_PACKAGE in image.name.split("+") else ""


def _processor(layout: Layout) -> list[str]:
    if layout.accelerator is Accelerator.KVM:
        return ["-machine", _board(layout.settings), "-accel", "kvm", "-cpu", "host"]
    accelerator = f"tcg,thread=multi,tb-size={TRANSLATION_MIB}"
    return ["-machine", _board(layout.settings), "-accel", accelerator, "-cpu", "max"]


def _board(settings: VmSettings) -> str:
    return "q35,memory-backend=memory" if settings.pages is Pages.HUGE else "q35"


def _memory(layout: Layout) -> list[str]:
    if layout.settings.pages is not Pages.HUGE:
        return []
    return ["-object", f"memory-backend-memfd,id=memory,size={layout.spec.memory}M,hugetlb=on"]


def _networks(layout: Layout) -> list[str]:
    model = layout.settings.nic
    if not layout.nics:
        return ["-netdev", "user,id=public", "-device", f"{model},netdev=public,mac={user_mac()}"]
    argv: list[str] = []
    for number, nic in enumerate(layout.nics):
        tap = f"tap,id=line{number},ifname={nic.interface},script=no,downscript=no"
        argv += ["-netdev", tap, "-device", f"{model},netdev=line{number},mac={card_mac(number, nic, model)}"]
    return argv


def card_mac(number: int, nic: NetworkInterface, model: Nic) -> str:
    """The address that a machine's card is made with. The agent then gives it the machine's own address, so that a
    saved state holds that of no machine; a `vmxnet3` of QEMU 7.2 receives nothing at an address that it is given.
    """
    return f"52:54:00:00:00:{number:02x}" if model is Nic.VIRTIO else nic.mac


def user_mac() -> str:
    """The card's address on a user-mode network, which no other machine shares."""
    return "52:54:00:12:34:56"


def _disk(layout: Layout) -> list[str]:
    if layout.disk is None:
        return []
    argv: list[str] = []
    serving = ""
    for number in range(layout.settings.io_threads):
        argv += ["-object", f"iothread,id=io{number}"]
        serving = ",iothread=io0"
    cache = layout.settings.cache
    flags = {"direct": cache in (Cache.NONE, Cache.DIRECTSYNC), "no-flush": cache is Cache.UNSAFE}
    file = {"driver": "file", "filename": str(layout.disk), "cache": flags}
    node = {"driver": "qcow2", "node-name": "root", "cache": flags, "file": file}
    written_through = cache in (Cache.WRITETHROUGH, Cache.DIRECTSYNC)
    device = f"virtio-blk-pci,drive=root,write-cache={'off' if written_through else 'on'}{serving}"
    return [*argv, "-blockdev", json.dumps(node), "-device", device]
