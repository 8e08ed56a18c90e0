"""A machine as users declare it: what platform it is of, how large, on what networks, how it is made."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from loadstone.model.errors import UsageError
from loadstone.model.reading import Section, from_settings, settings_of

PUBLIC, PRIVATE = "public", "private"
"""The network of users, and the one between machines of one system."""

SERVER = "loadstone-server"
"""Name of the reference servers' program in commands of services; every place knows where it is."""


class PlatformName(StrEnum):
    """What makes a machine."""

    PROCESS = "process"
    CONTAINER = "container"
    PODMAN = "podman"
    VM = "vm"
    LIBVIRT = "libvirt"


class Accelerator(StrEnum):
    """How a virtual machine's processors are made."""

    AUTO = "auto"
    KVM = "kvm"
    TCG = "tcg"


class NetworkKind(StrEnum):
    """How a machine is connected."""

    AUTO = "auto"
    """A bridge where this user may make one, else user-mode."""
    BRIDGE = "bridge"
    USER = "user"


class Cache(StrEnum):
    """How the host caches a virtual disk, in the hypervisor's own words."""

    NONE = "none"
    WRITEBACK = "writeback"
    WRITETHROUGH = "writethrough"
    DIRECTSYNC = "directsync"
    UNSAFE = "unsafe"


class Nic(StrEnum):
    """Model of a virtual network card."""

    VIRTIO = "virtio-net-pci"
    VMXNET3 = "vmxnet3"


class Lines(StrEnum):
    """Whether several machines alike share a bridge."""

    SHARED = "shared"
    OWN = "own"


class Pages(StrEnum):
    """What a machine's memory is made of."""

    NORMAL = "normal"
    HUGE = "huge"


MINIMAL, DEBIAN = "minimal", "debian"
"""Images: a kernel and the reference server alone; a Debian root file system with packages."""

Whole = Annotated[int, Field(ge=1, le=4096)]


class MachineSpec(Section):
    """One machine, or several alike."""

    platform: PlatformName = Field(
        default=PlatformName.PROCESS, description="`process`, `container`, `podman`, `vm` or `libvirt`"
    )
    count: Whole = Field(default=1, description="how many alike, 1 or more; users are dealt to them in turn")
    cpus: Whole | None = Field(default=None, description="cores or virtual CPUs, 1 or more")
    memory: Annotated[int, Field(ge=64, le=1 << 22)] = Field(default=512, description="MiB of memory, 64 or more")
    image: str = Field(default=MINIMAL, description="`minimal`, `debian`, `debian+PACKAGE+...`, or an OCI image")
    accelerator: Accelerator = Field(default=Accelerator.AUTO, description="`auto`, `kvm` or `tcg`")
    network: NetworkKind = Field(default=NetworkKind.AUTO, description="`auto`, `bridge` or `user`")
    rate: Annotated[float, Field(ge=0.01, le=30_000)] | None = Field(
        default=None, description="Mbit/s of its public line, each way, 0.01 to 30000"
    )
    lines: Lines = Field(default=Lines.SHARED, description="`shared`: all on one bridge, or `own`: each on its own")
    nic: Nic = Field(default=Nic.VIRTIO, description="`virtio-net-pci` or `vmxnet3`")
    cache: Cache = Field(default=Cache.NONE, description="`none`, `writeback`, `writethrough`, `directsync`, `unsafe`")
    io_threads: Annotated[int, Field(ge=0, le=16)] = Field(
        default=0, description="threads of its own for disks, 0 to 16"
    )
    pin: str | None = Field(default=None, description="cores of the host it may use, as 0-1 or 0+2; in turn as 0/1")
    pages: Pages = Field(default=Pages.NORMAL, description="`normal` or `huge`")
    disk: Annotated[int, Field(ge=0, le=1 << 24)] = Field(
        default=0, description="MiB of the root disk; 0 as in the image"
    )
    uri: str = Field(default="qemu:///session", description="of libvirt: what to connect to")

    @classmethod
    def parse(cls, text: str) -> "MachineSpec":
        """Reads `platform=vm,cpus=2,memory=1024`. Raises UsageError."""
        return from_settings(cls, "machine", settings_of(text))

    def changed(self, **settings: str) -> "MachineSpec":
        """With some settings given as texts; raises UsageError."""
        held = {name: value for name, value in self.model_dump(mode="json").items() if value is not None}
        return from_settings(MachineSpec, "machine", {**held, **settings})

    def number(self, at: int) -> "MachineSpec":
        """One of several alike, counted from 0, with the cores that are its turn."""
        turns = self.pin.split("/") if self.pin else []
        return self.model_copy(update={"count": 1, "pin": turns[at % len(turns)] if turns else None})

    def refuse_foreign(self, names: Iterable[str]) -> None:
        """Raises UsageError when one of these settings is none of its platform's."""
        foreign = sorted(set(names) - FITTING[self.platform])
        if foreign:
            others = [name.value for name, fitting in FITTING.items() if foreign[0] in fitting]
            title = TITLES[self.platform]
            raise UsageError(
                f"A {title} has no `{foreign[0]}`. Take --platform {' or '.join(others)}, or leave it out."
            )

    @property
    def is_virtual(self) -> bool:
        """Whether it has a kernel of its own."""
        return self.platform in (PlatformName.VM, PlatformName.LIBVIRT)

    def __str__(self) -> str:
        if self.platform is PlatformName.PROCESS:
            size = f" on {self.cpus} cores" if self.cpus else ""
        else:
            size = f" of {self.cpus or 1} CPU{'s' * ((self.cpus or 1) != 1)} and {self.memory} MiB"
        name = TITLES[self.platform] if self.count == 1 else f"{self.count} {PLURALS[self.platform]}"
        said = self.model_dump(mode="json", exclude_defaults=True, exclude={"platform", "count", "cpus", "memory"})
        return ", ".join([f"{name}{size}", *(f"{key} {value}" for key, value in said.items())])


SIZE = frozenset({"platform", "count", "cpus", "pin"})
OWN_LINES = SIZE | {"memory", "rate", "lines"}
FITTING = {
    PlatformName.PROCESS: SIZE,
    PlatformName.CONTAINER: OWN_LINES,
    PlatformName.PODMAN: (OWN_LINES | {"image"}) - {"pin"},
    PlatformName.VM: frozenset(MachineSpec.model_fields) - {"uri"},
    PlatformName.LIBVIRT: SIZE | {"memory", "image", "accelerator", "nic", "cache", "disk", "uri"},
}
"""What can be said of a machine, by its platform."""

TITLES = {
    PlatformName.PROCESS: "process",
    PlatformName.CONTAINER: "container",
    PlatformName.PODMAN: "podman container",
    PlatformName.VM: "virtual machine",
    PlatformName.LIBVIRT: "virtual machine by libvirt",
}
PLURALS = {
    PlatformName.PROCESS: "processes",
    PlatformName.CONTAINER: "containers",
    PlatformName.PODMAN: "podman containers",
    PlatformName.VM: "virtual machines",
    PlatformName.LIBVIRT: "virtual machines by libvirt",
}


HERE = MachineSpec()
"""A process of this machine, on any core."""


@dataclass(frozen=True)
class Placement:
    """Where the services of a system run."""

    machine: MachineSpec = HERE
    """What is measured."""
    backend: MachineSpec = HERE
    """The back-end simulator, which stands for other machines."""

    @property
    def is_plain(self) -> bool:
        """Whether all are processes of this machine, on any core."""
        return self == PLAIN


PLAIN = Placement()
"""Everything as processes of this machine."""
