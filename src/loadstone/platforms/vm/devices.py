"""QEMU's arguments for the network cards and the disk of a machine. Pure."""

import json
from collections.abc import Sequence
from pathlib import Path

from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.vm.settings import Cache, Controller, DiskFormat, DiskSettings, NetworkSettings, Nic

DISK_NAMES = {
    Controller.VIRTIO_BLK: ("/dev/vda", "/dev/vdb"),
    Controller.VIRTIO_SCSI: ("/dev/sda", "/dev/sdb"),
    Controller.NVME: ("/dev/nvme0n1", "/dev/nvme1n1"),
}
"""The machine's disks, as its kernel names them: the first, and that for what services store."""
DISK_NODES = ("root", "data")
"""The same, as QEMU names them."""
DISK_SERIALS = ("loadstone", "loadstone-data")
CARD_OFFLOADS = (
    *("csum", "gso", "host_tso4", "host_tso6", "host_ecn", "host_ufo", "mrg_rxbuf"),
    *("guest_csum", "guest_tso4", "guest_tso6", "guest_ecn", "guest_ufo"),
)
"""Properties of `virtio-net-pci` for checksums and segments that a card computes, or hands on unfinished."""


def list_network_arguments(
    model: Nic, settings: NetworkSettings, nics: Sequence[NetworkInterface], has_vhost: bool
) -> list[str]:
    """Returns the arguments of all cards: one at QEMU's user-mode network where the machine has no other, and one that
    is passed through.
    """
    argv: list[str] = []
    if not nics:
        argv += ["-netdev", "user,id=public", "-device", f"{model},netdev=public,mac={get_user_mac()}"]
    for number, nic in enumerate(nics):
        argv += ["-netdev", _tap(number, nic, settings, has_vhost)]
        card = f"{model},netdev=line{number},mac={choose_card_mac(number, nic, model)}"
        argv += ["-device", ",".join([card, *_card_properties(settings)])]
    return [*argv, "-device", f"vfio-pci,host={settings.vfio}"] if settings.vfio else argv


def _tap(number: int, nic: NetworkInterface, settings: NetworkSettings, has_vhost: bool) -> str:
    properties = [f"tap,id=line{number},ifname={nic.interface},script=no,downscript=no"]
    properties += ["vhost=on"] if has_vhost else []
    properties += [f"queues={settings.queues}"] if settings.queues > 1 else []
    return ",".join(properties)


def _card_properties(settings: NetworkSettings) -> list[str]:
    """Returns what differs from the card's usual properties; all of it is of `virtio-net-pci`."""
    properties = [] if settings.offloads else [f"{name}=off" for name in CARD_OFFLOADS]
    # A vector for each queue, one for changes of the configuration, one for the control queue.
    properties += ["mq=on", f"vectors={2 * settings.queues + 2}"] if settings.queues > 1 else []
    return [*properties, f"host_mtu={settings.mtu}"] if settings.mtu else properties


def choose_card_mac(number: int, nic: NetworkInterface, model: Nic) -> str:
    """Returns the address that a machine's card starts with. The agent then sets the machine's address, so that a saved
    state has no machine's address. Other models than virtio have the machine's address at once: a `vmxnet3` of QEMU 7.2
    receives nothing at an address that is set later.
    """
    return f"52:54:00:00:00:{number:02x}" if model is Nic.VIRTIO else nic.mac


def get_user_mac() -> str:
    """Returns the card's address on a user-mode network, which no other machine shares."""
    return "52:54:00:12:34:56"


def list_disk_arguments(
    cache: Cache, settings: DiskSettings, disk: Path | None, data_disk: Path | None = None
) -> list[str]:
    """Returns the arguments of a machine's disks; none without one."""
    if disk is None:
        return []
    argv: list[str] = []
    for number in range(settings.io_threads):
        argv += ["-object", f"iothread,id=io{number}"]
    for number, file in enumerate([disk] if data_disk is None else [disk, data_disk]):
        argv += _disk(number, cache, settings, file)
    return argv


def _disk(number: int, cache: Cache, settings: DiskSettings, file: Path) -> list[str]:
    """Returns the arguments of one disk with its controller. The second has a thread of its own where there are two."""
    node = DISK_NODES[number]
    thread = f",iothread=io{min(number, settings.io_threads - 1)}" if settings.io_threads else ""
    is_written_through = cache in (Cache.WRITETHROUGH, Cache.DIRECTSYNC)
    drive = f"drive={node},write-cache={'off' if is_written_through else 'on'}"
    match settings.controller:
        case Controller.VIRTIO_BLK:
            devices = [f"virtio-blk-pci,{drive}{thread}"]
        case Controller.VIRTIO_SCSI:
            bus = [f"virtio-scsi-pci,id=scsi{thread}"] if number == 0 else []
            devices = [*bus, f"scsi-hd,bus=scsi.0,{drive}"]
        case Controller.NVME:
            devices = [f"nvme,serial={DISK_SERIALS[number]},{drive}"]
    block = json.dumps(_block(number, cache, settings, file))
    return ["-blockdev", block, *(argument for device in devices for argument in ("-device", device))]


def _block(number: int, cache: Cache, settings: DiskSettings, file: Path) -> dict[str, object]:
    """Returns where a disk's content is: the first may be on a block device, the second is always in a file."""
    is_device = number == 0 and bool(settings.device)
    flags = {"direct": cache in (Cache.NONE, Cache.DIRECTSYNC), "no-flush": cache is Cache.UNSAFE}
    driver = "host_device" if is_device else "file"
    form = choose_disk_format(settings) if number == 0 else settings.disk_format
    content = {"driver": driver, "filename": str(file), "aio": settings.aio.value, "cache": flags}
    return {"driver": form.value, "node-name": DISK_NODES[number], "cache": flags, "file": content}


def choose_disk_format(settings: DiskSettings) -> DiskFormat:
    """Returns the format of the disk's content: a block device has no other than raw."""
    return DiskFormat.RAW if settings.device else settings.disk_format
