"""From a declared machine to the words QEMU is started with. Pure. QEMU 7.2 is the reference."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadstone.model.machine import MachineSpec
from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.kind import get_own_settings
from loadstone.platforms.vm.devices import list_disk_arguments, list_network_arguments
from loadstone.platforms.vm.image import NFS_IMAGE, NFS_PACKAGE, Image
from loadstone.platforms.vm.passed_card import PassedCard
from loadstone.platforms.vm.settings import Accelerator, Controller, Nic, Pages, VmSettings

QEMU = "qemu-system-x86_64"
AGENT_PORT_NAME = "org.loadstone.agent"
"""Name of the agent's serial port; the agent looks for it."""
GUEST_FILES = "/srv/loadstone"
"""The machine's folder for what services keep; on its data disk where it has one."""
KERNEL_LINE = "console=ttyS0 panic=-1 quiet cryptomgr.notests"
"""Of all machines: messages on the serial port, an end instead of a stand-still after a panic, and no tests of the
kernel's own ciphers. An emulated machine spends seconds in these, and with two processors may wait in one for good.
"""
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
    data_disk: Path | None = None
    """Second disk, for what services store."""
    has_vhost: bool = False
    """Whether the host's kernel moves its packets."""
    passed: PassedCard | None = None
    """Card of the host that it drives itself."""
    nodes: tuple[int, ...] = ()
    """NUMA nodes of the host that its memory is bound to; none where it is not bound."""

    @property
    def is_restorable(self) -> bool:
        """Whether the machine may begin with the saved state of another one: its cards can be given addresses, and no
        card of the host has a state of its own.
        """
        settings = self.settings
        return settings.nic is Nic.VIRTIO and not settings.cold and not settings.vfio

    @property
    def disk_place(self) -> str:
        """Where the machine mounts its disk: as its root, or for what services keep."""
        return "/" if self.image.root else GUEST_FILES

    @property
    def settings(self) -> VmSettings:
        """Its own settings."""
        return get_own_settings(self.spec, VmSettings)


RESTORING = ("-incoming", "defer", "-global", "migration.announce-rounds=0")
"""What QEMU is told besides when it restores a saved state: it waits for the state, and does not announce the addresses
that the cards have in it."""


def build_command(layout: Layout) -> list[str]:
    """Returns QEMU's command line. The machine starts paused, so that its threads can be placed first."""
    spec = layout.spec
    argv = [QEMU, "-name", layout.name, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-S"]
    argv += ["-smp", str(spec.cpus or 1), "-m", f"{spec.memory}M", *_processor(layout), *_memory(layout)]
    argv += _confinement(is_root=os.geteuid() == 0)
    argv += layout.image.list_boot_arguments(build_kernel_line(layout))
    argv += ["-chardev", f"file,id=console,path={layout.sockets.console}", "-serial", "chardev:console"]
    argv += ["-chardev", f"socket,id=qmp,path={layout.sockets.qmp}", "-mon", "chardev=qmp,mode=control"]
    argv += ["-chardev", f"socket,id=agent,path={layout.sockets.agent}", "-device", "virtio-serial-pci"]
    argv += ["-device", f"virtserialport,chardev=agent,name={AGENT_PORT_NAME}", "-device", "virtio-rng-pci"]
    settings = layout.settings
    argv += list_network_arguments(settings.nic, settings, layout.nics, layout.has_vhost)
    return [*argv, *list_disk_arguments(settings.cache, settings, layout.disk, layout.data_disk)]


def _confinement(is_root: bool) -> list[str]:
    """Root becomes another user, which is a change of privileges; anybody else may not change theirs at all."""
    if is_root:
        return ["-sandbox", SANDBOX, "-runas", UNPRIVILEGED]
    return ["-sandbox", f"{SANDBOX},elevateprivileges=deny"]


def build_kernel_line(layout: Layout) -> str:
    """Returns the kernel's command line: that of all machines, lists of modules, and further arguments."""
    line = f"{KERNEL_LINE}{build_module_argument(layout.image, _module_lists(layout.settings))}"
    return f"{line} {layout.settings.kernel_arguments}".rstrip()


def build_module_argument(image: Image, lists: Sequence[str] = ()) -> str:
    """Returns the argument of the kernel that names further lists of modules; empty where there are none."""
    names = [*([NFS_IMAGE] if NFS_PACKAGE in image.name.split("+") else []), *lists]
    return f" loadstone.modules={','.join(names)}" if names else ""


def _module_lists(settings: VmSettings) -> list[str]:
    by_controller = {Controller.VIRTIO_SCSI: "scsi", Controller.NVME: "nvme"}
    lists = [by_controller[settings.controller]] if settings.controller in by_controller else []
    lists += ["e1000"] if settings.nic is Nic.E1000 else []
    return [*lists, *(["cards"] if settings.vfio else [])]


def _processor(layout: Layout) -> list[str]:
    board = "q35,memory-backend=memory" if _memory(layout) else "q35"
    if layout.accelerator is Accelerator.KVM:
        return ["-machine", board, "-accel", "kvm", "-cpu", "host"]
    accelerator = f"tcg,thread=multi,tb-size={TRANSLATION_MIB}"
    return ["-machine", board, "-accel", accelerator, "-cpu", "max"]


HUGE_PAGE_SIZES = {Pages.HUGE: "", Pages.HUGE_2M: ",hugetlbsize=2M", Pages.HUGE_1G: ",hugetlbsize=1G"}
"""Properties of memory for the size of its huge pages; the host's usual size without one."""


def _memory(layout: Layout) -> list[str]:
    """Returns the machine's memory where QEMU's own choice does not do. All of bound memory is taken at once: later the
    host may have none left on the node.
    """
    pages, size = layout.settings.pages, f"id=memory,size={layout.spec.memory}M"
    bound = "".join(f",host-nodes={node}" for node in layout.nodes)
    bound += ",policy=bind,prealloc=on" if layout.nodes else ""
    if pages in HUGE_PAGE_SIZES:
        return ["-object", f"memory-backend-memfd,{size},hugetlb=on{HUGE_PAGE_SIZES[pages]}{bound}"]
    return ["-object", f"memory-backend-ram,{size}{bound}"] if bound else []
