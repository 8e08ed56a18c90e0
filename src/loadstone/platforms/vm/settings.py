"""What can be said of virtual machines alone, in the hypervisor's own words. Pure."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from loadstone.model.reading import Section

USER_MODE = "A user-mode network has no line to slow"


class Accelerator(StrEnum):
    """How a virtual machine's processors are made."""

    AUTO = "auto"
    KVM = "kvm"
    TCG = "tcg"


class Cache(StrEnum):
    """How the host caches a virtual disk."""

    NONE = "none"
    WRITEBACK = "writeback"
    WRITETHROUGH = "writethrough"
    DIRECTSYNC = "directsync"
    UNSAFE = "unsafe"


class Nic(StrEnum):
    """Model of a virtual network card."""

    VIRTIO = "virtio-net-pci"
    VMXNET3 = "vmxnet3"
    E1000 = "e1000"


class Pages(StrEnum):
    """Memory pages of the host for a machine's memory."""

    NORMAL = "normal"
    HUGE = "huge"
    """Huge pages of the host's usual size."""
    HUGE_2M = "huge-2M"
    HUGE_1G = "huge-1G"


class DiskFormat(StrEnum):
    """Format of the file of a virtual disk."""

    QCOW2 = "qcow2"
    RAW = "raw"


class Aio(StrEnum):
    """Interface of the host's kernel by which QEMU reads and writes a disk's file."""

    THREADS = "threads"
    NATIVE = "native"
    IO_URING = "io_uring"


class Controller(StrEnum):
    """Model of the controller of a virtual disk."""

    VIRTIO_BLK = "virtio-blk"
    VIRTIO_SCSI = "virtio-scsi"
    NVME = "nvme"


class Vhost(StrEnum):
    """Whether the host's kernel moves a machine's packets, in place of QEMU."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class KernelFlavour(StrEnum):
    """Flavour of Debian's kernel in machines."""

    CLOUD = "cloud"
    GENERIC = "generic"
    """It has drivers of cards that exist as hardware."""


class HypervisorSettings(Section):
    """Of virtual machines, whoever starts them."""

    accelerator: Accelerator = Field(default=Accelerator.AUTO, description="`auto`, `kvm` or `tcg`")
    """Accelerator of QEMU: hardware virtualization, or emulation by TCG."""
    nic: Nic = Field(default=Nic.VIRTIO, description="`virtio-net-pci` or `vmxnet3`")
    """Model of the network card."""
    cache: Cache = Field(default=Cache.NONE, description="`none`, `writeback`, `writethrough`, `directsync`, `unsafe`")
    """Cache mode of the disk."""
    kernel: KernelFlavour = Field(default=KernelFlavour.CLOUD, description="Debian's `cloud` or `generic` kernel")
    """Flavour of the machine's kernel."""


class RestorableSettings(Section):
    """Of machines that can begin with the saved state of another one of their kind."""

    cold: bool = Field(default=False, description="`true`: always booted, never restored from a saved state")


class DiskSettings(Section):
    """Disk of a machine that this program starts itself."""

    disk_format: DiskFormat = Field(default=DiskFormat.QCOW2, description="`qcow2` (an overlay) or `raw` (a copy)")
    """Format of the disk's file."""
    device: str = Field(default="", description="block device of the host for the disk; its content is replaced")
    aio: Aio = Field(default=Aio.THREADS, description="`threads`, `native` or `io_uring`; `native` needs `cache=none`")
    """Interface by which QEMU reads and writes the disk."""
    controller: Controller = Field(default=Controller.VIRTIO_BLK, description="`virtio-blk`, `virtio-scsi` or `nvme`")
    """Model of the disk's controller."""
    io_threads: Annotated[int, Field(ge=0, le=16)] = Field(
        default=0, description="dedicated threads for disks, 0 to 16"
    )
    data_disk: Annotated[int, Field(ge=0, le=1 << 24)] = Field(
        default=0, description="MiB of a second disk for what services store; 0 for none"
    )
    """In addition to the root disk of the image, at the same kind of controller."""


class NetworkSettings(Section):
    """Network cards of a machine that this program starts itself."""

    vhost: Vhost = Field(default=Vhost.AUTO, description="`auto`, `on` or `off`: packets by the host's kernel")
    """Whether the host's kernel moves packets (vhost-net); `auto`: where it can."""
    queues: Annotated[int, Field(ge=1, le=16)] = Field(default=1, description="queue pairs of a network card, 1 to 16")
    offloads: bool = Field(default=True, description="`false`: no checksum and segmentation offloads")
    mtu: Annotated[int, Field(ge=68, le=65535)] | None = Field(
        default=None, description="longest packet of its networks in bytes, 68 to 65535"
    )
    bridge: str = Field(
        default="",
        description="bridge of the host that its public network is joined to; br0+br1 for two public networks; "
        "round robin as br0/br1",
    )
    vfio: str = Field(default="", description="PCI address of a card of the host to pass through, as 0000:03:00.0")
    vfio_address: str = Field(default="", description="address and prefix of that card, as 192.0.2.10/24")
    """Address of the passed card, at which users reach the machine."""

    @property
    def bridges(self) -> list[str]:
        """Bridges of the host for the public networks, in their order; empty without one."""
        return self.bridge.split("+") if self.bridge else []

    def choose_bridge(self, number: int) -> str:
        """Returns the bridge of the host for a public network, counted from 0; empty without one."""
        return self.bridges[number] if self.bridges else ""


class HostSettings(Section):
    """Share of the host's processors and memory that a machine has."""

    pages: Pages = Field(default=Pages.NORMAL, description="`normal`, `huge`, `huge-2M` or `huge-1G`")
    """Memory pages of the host for the machine's memory."""
    bind_memory: bool = Field(default=False, description="`true`: memory of the NUMA nodes of its pinned cores alone")
    cpu_weight: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        default=None, description="weight of its control group for CPU, 1 to 10000; others have 100"
    )
    io_weight: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        default=None, description="weight of its control group for disks, 1 to 10000; others have 100"
    )
    nice: Annotated[int, Field(ge=-20, le=19)] = Field(default=0, description="nice value of its process, -20 to 19")


class VmSettings(HypervisorSettings, RestorableSettings, DiskSettings, NetworkSettings, HostSettings):
    """Virtual machines that this program starts itself."""

    kernel_arguments: str = Field(default="", description="further arguments of the machine's kernel")
    restart: bool = Field(default=False, description="`true`: restarted with its services when it dies")
