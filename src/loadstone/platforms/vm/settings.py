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


class Pages(StrEnum):
    """What a machine's memory is made of."""

    NORMAL = "normal"
    HUGE = "huge"


class HypervisorSettings(Section):
    """Of virtual machines, whoever starts them."""

    accelerator: Accelerator = Field(default=Accelerator.AUTO, description="`auto`, `kvm` or `tcg`")
    """Accelerator of QEMU: hardware virtualization, or emulation by TCG."""
    nic: Nic = Field(default=Nic.VIRTIO, description="`virtio-net-pci` or `vmxnet3`")
    """Model of the network card."""
    cache: Cache = Field(default=Cache.NONE, description="`none`, `writeback`, `writethrough`, `directsync`, `unsafe`")
    """Cache mode of the disk."""


class RestorableSettings(Section):
    """Of machines that can begin with the saved state of another one of their kind."""

    cold: bool = Field(default=False, description="`true`: always booted, never restored from a saved state")


class VmSettings(HypervisorSettings, RestorableSettings):
    """Of virtual machines that this program starts itself."""

    io_threads: Annotated[int, Field(ge=0, le=16)] = Field(
        default=0, description="dedicated threads for disks, 0 to 16"
    )
    restart: bool = Field(default=False, description="`true`: restarted with its services when it dies")
    pages: Pages = Field(default=Pages.NORMAL, description="`normal` or `huge`")
    """Memory pages of the host for the machine's memory."""
