"""Settings of a virtual machine that do not go together, or that its host cannot provide."""

import ipaddress
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from loadstone.model.machine import MINIMAL, MachineSpec, NetworkKind
from loadstone.platforms.kind import get_own_settings
from loadstone.platforms.vm.settings import (
    Aio,
    Cache,
    Controller,
    DiskFormat,
    HypervisorSettings,
    KernelFlavour,
    Nic,
    Vhost,
    VmSettings,
)

VHOST_DEVICE = Path("/dev/vhost-net")
DRIVERS_OF_GENERIC_KERNEL = (Nic.E1000,)
"""Models of cards whose drivers Debian's cloud kernel lacks."""
PCI_ADDRESS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def find_conflict(spec: MachineSpec) -> str:
    """Returns the first conflict of a machine's settings with its remedy; empty where there is none. Pure."""
    settings = get_own_settings(spec, VmSettings)
    conflicts = (*_of_disk(spec, settings), *_of_network(spec, settings), *_of_host(spec, settings))
    return next(iter(conflicts), "")


def _of_disk(spec: MachineSpec, settings: VmSettings) -> Iterator[str]:
    is_direct = settings.cache in (Cache.NONE, Cache.DIRECTSYNC)
    if settings.aio is Aio.NATIVE and not is_direct:
        yield f"`aio=native` needs a disk without the host's cache, not `cache={settings.cache}`. Use `cache=none`."
    if settings.io_threads and settings.controller is Controller.NVME:
        yield "QEMU serves an `nvme` disk without I/O threads. Remove `io_threads`, or use `controller=virtio-blk`."
    if settings.device and settings.disk_format is DiskFormat.RAW:
        yield "A `device` has no file, so `disk_format` does not apply. Remove one of both."
    if spec.image == MINIMAL and settings.data_disk:
        yield f"The image `{MINIMAL}` has no root disk, so its `disk` is the data disk. Use `disk`, not `data_disk`."
    if spec.image == MINIMAL and not spec.disk and not settings.device:
        names = [name for name in ("disk_format", "aio", "controller") if name in spec.declared]
        if names:
            yield f"The image `{MINIMAL}` has no disk, so `{names[0]}` does not apply. Add `disk=1024`."


def _of_network(spec: MachineSpec, settings: VmSettings) -> Iterator[str]:
    of_bridge = list_bridge_settings(spec)
    of_virtio = [name for name in of_bridge if name not in ("bridge", "public_networks")]
    if of_virtio and settings.nic is not Nic.VIRTIO:
        yield f"A card `{settings.nic}` has no `{of_virtio[0]}`. Use `nic={Nic.VIRTIO}`, or remove the setting."
    if of_bridge and spec.network is NetworkKind.USER:
        yield f"A user-mode network has no `{of_bridge[0]}`. Use `network=bridge`, or remove the setting."
    if settings.queues > (spec.cpus or 1):
        yield f"A machine uses at most one queue per CPU: `queues={settings.queues}` needs `cpus={settings.queues}`."
    lack = find_driver_lack(settings)
    if lack:
        yield lack
    yield from _of_bridges(spec, settings)
    yield from _of_passed_card(settings)


def _of_bridges(spec: MachineSpec, settings: VmSettings) -> Iterator[str]:
    count = spec.public_networks
    if settings.vfio and count > 1:
        yield "Users reach a machine with `vfio` at that card alone. Remove `public_networks`."
    for turn in settings.bridge.split("/") if settings.bridge else ():
        bridges = turn.split("+")
        if len(bridges) > 1 and count == 1:
            yield f"`bridge={turn}` names several bridges for one network. Add `public_networks={len(bridges)}`."
        elif len(bridges) != count:
            example = "+".join(f"br{number}" for number in range(count))
            yield (
                f"`bridge={turn}` does not name {count} bridges, and there are {count} public networks. "
                f"Name a bridge for each network, such as `bridge={example}`."
            )
        if len(set(bridges)) < len(bridges):
            yield f"`bridge={turn}` names a bridge twice. Name another bridge for each public network."


def find_driver_lack(settings: HypervisorSettings) -> str:
    """Returns which driver the machine's kernel lacks, with the remedy; empty where it has all."""
    if settings.nic in DRIVERS_OF_GENERIC_KERNEL and settings.kernel is KernelFlavour.CLOUD:
        return f"The cloud kernel has no driver for `{settings.nic}`. Add `kernel=generic`."
    return ""


def list_bridge_settings(spec: MachineSpec) -> list[str]:
    """Returns the declared settings that need a card on a bridge."""
    settings = get_own_settings(spec, VmSettings)
    is_declared = {name: name in spec.declared for name in ("bridge", "mtu", "offloads", "queues", "public_networks")}
    is_declared["vhost"] = settings.vhost is Vhost.ON
    return [name for name, declared in is_declared.items() if declared]


def _of_passed_card(settings: VmSettings) -> Iterator[str]:
    if settings.vfio and not PCI_ADDRESS.fullmatch(settings.vfio):
        yield f"`{settings.vfio}` is not a PCI address. Use one such as 0000:03:00.0 (`lspci -D`)."
    if bool(settings.vfio) != bool(settings.vfio_address):
        yield "A passed card needs both: `vfio=0000:03:00.0` and `vfio_address=192.0.2.10/24`."
    if settings.vfio_address and not _is_interface(settings.vfio_address):
        yield f"`{settings.vfio_address}` is not an address with its prefix. Use one such as 192.0.2.10/24."


def _is_interface(text: str) -> bool:
    try:
        return "/" in text and ipaddress.IPv4Interface(text).network.prefixlen < 32
    except ValueError:
        return False


def _of_host(spec: MachineSpec, settings: VmSettings) -> Iterator[str]:
    if settings.bind_memory and spec.pin is None:
        yield "`bind_memory` binds memory to the nodes of the pinned cores. Add `pin`, such as `pin=0-1`."


def find_lack(spec: MachineSpec) -> str:
    """Returns what this host lacks for a machine's settings, with the remedy; empty where it lacks nothing."""
    settings = get_own_settings(spec, VmSettings)
    lacks = (*_lacks_of_user(settings), *_lacks_of_files(settings))
    return next(iter(lacks), "")


def _lacks_of_user(settings: VmSettings) -> Iterator[str]:
    if os.geteuid() == 0:
        return
    declared = {"cpu_weight": settings.cpu_weight, "io_weight": settings.io_weight, "vfio": settings.vfio}
    declared |= {"device": settings.device, "bridge": settings.bridge, "nice": settings.nice < 0}
    names = [name for name, value in declared.items() if value]
    if names:
        yield f"`{names[0]}` of a machine needs root. Run as root, or remove the setting."


def _lacks_of_files(settings: VmSettings) -> Iterator[str]:
    if settings.vhost is Vhost.ON and not may_use_vhost():
        yield f"{VHOST_DEVICE} cannot be opened. Load its module (`modprobe vhost_net`), or use `vhost=auto`."
    for bridge in filter(None, settings.bridge.replace("/", "+").split("+")):
        if not Path(f"/sys/class/net/{bridge}/bridge").is_dir():
            yield f"There is no bridge `{bridge}` here. Create it: `ip link add {bridge} type bridge`."
    if settings.device and not _is_block_device(settings.device):
        yield f"`{settings.device}` is not a block device of this host. Use one that `lsblk` lists."
    if settings.vfio and not Path(f"/sys/bus/pci/devices/{settings.vfio}").is_dir():
        yield f"There is no PCI device {settings.vfio} here. `lspci -D` lists the devices."
    if settings.vfio and not Path(f"/sys/bus/pci/devices/{settings.vfio}/iommu_group").exists():
        yield f"{settings.vfio} has no IOMMU group. Enable the IOMMU in the firmware and by `intel_iommu=on`."


def may_use_vhost() -> bool:
    """Returns whether this user may have the kernel move the packets of machines."""
    return os.access(VHOST_DEVICE, os.R_OK | os.W_OK)


def _is_block_device(path: str) -> bool:
    try:
        return stat.S_ISBLK(Path(path).stat().st_mode)
    except OSError:
        return False
