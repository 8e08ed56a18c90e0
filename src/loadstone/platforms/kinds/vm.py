"""The platform `vm`: what it needs, how a declared machine becomes a virtual one."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from loadstone.host.cores import read_core_list
from loadstone.host.numa import find_nodes
from loadstone.model.errors import PlatformError
from loadstone.model.machine import MachineSpec, NetworkKind
from loadstone.platforms.contract import Attachment, Machine, MachineContext
from loadstone.platforms.fabric import may_make_networks
from loadstone.platforms.kind import SEVERAL_LINES, PlatformKind, get_own_settings
from loadstone.platforms.local import refuse_line_speed
from loadstone.platforms.vm.accelerator import detect_accelerator
from loadstone.platforms.vm.command import QEMU, Layout
from loadstone.platforms.vm.conflicts import find_conflict, find_lack, list_bridge_settings, may_use_vhost
from loadstone.platforms.vm.devices import choose_disk_format
from loadstone.platforms.vm.image import (
    Image,
    compute_disk_mib,
    create_data_disk,
    create_disk,
    explain_unknown_image,
    get_image,
    write_device,
    write_raw_disk,
)
from loadstone.platforms.vm.machine import shorten_sockets, start_virtual_machine
from loadstone.platforms.vm.passed_card import take_card
from loadstone.platforms.vm.settings import USER_MODE, DiskFormat, Nic, Vhost, VmSettings


class VmPlatform:
    """Makes virtual machines."""

    def choose_attachment(self, spec: MachineSpec) -> Attachment:
        """Returns the attachment by a tap if taps are permitted and requested, else by a user-mode network."""
        is_plain = spec.network is NetworkKind.AUTO and spec.mbit_per_s is None and not list_bridge_settings(spec)
        if spec.network is NetworkKind.USER or (is_plain and not may_make_networks()):
            refuse_line_speed(spec, USER_MODE)
            return Attachment.NONE
        return Attachment.TAP

    async def explain_missing(self, spec: MachineSpec) -> str:
        """Returns what must be installed first, empty if nothing."""
        needs = {QEMU: "qemu-system-x86", "qemu-img": "qemu-utils", "cpio": "cpio", "nsenter": "util-linux"}
        absent = [package for tool, package in needs.items() if shutil.which(tool) is None]
        if absent:
            return f"Virtual machines need {', '.join(absent)}: `apt-get install {' '.join(absent)}`."
        return explain_unknown_image(spec.image) or find_conflict(spec) or find_lack(spec)

    @asynccontextmanager
    async def start_machine(self, context: MachineContext) -> AsyncIterator[Machine]:
        """Starts a virtual machine, which ends with the block."""
        spec = context.spec
        settings = get_own_settings(spec, VmSettings)
        built = await asyncio.to_thread(get_image, spec.image, settings.kernel)
        accelerator = (await detect_accelerator(settings.accelerator)).accelerator
        disk = await asyncio.to_thread(_build_disk, built, spec, context.journal.folder / context.name)
        data_disk = await asyncio.to_thread(_build_data_disk, settings, context.journal.folder / context.name)
        sockets = shorten_sockets(context.journal, context.name, context.logs / f"{context.name}-console.log")
        layout = Layout(
            name=context.name,
            spec=spec,
            accelerator=accelerator,
            image=built,
            sockets=sockets,
            nics=tuple(context.nics.values()),
            disk=disk,
            data_disk=data_disk,
            has_vhost=_has_vhost(settings, is_bridged=bool(context.nics)),
            nodes=_nodes(spec, settings),
        )
        try:
            async with (
                take_card(context.journal, settings) as card,
                start_virtual_machine(context, replace(layout, passed=card)) as machine,
            ):
                yield machine
        finally:
            files = [data_disk] if settings.device else [disk, data_disk]
            for left in (sockets.qmp, sockets.agent, *files):
                if left is not None:
                    left.unlink(missing_ok=True)


def _build_disk(built: Image, spec: MachineSpec, into: Path) -> Path | None:
    """Builds the machine's disk: an overlay, a plain file, or a block device. Raises PlatformError."""
    settings = get_own_settings(spec, VmSettings)
    if settings.device:
        device = Path(settings.device)
        write_device(built, spec.disk, device)
        return device
    if choose_disk_format(settings) is DiskFormat.QCOW2:
        return create_disk(built, spec, into.with_name(f"{into.name}.qcow2"))
    size_mib = compute_disk_mib(built, spec.disk)
    plain = into.with_name(f"{into.name}.raw")
    write_raw_disk(built, size_mib, plain)
    return plain


def _build_data_disk(settings: VmSettings, into: Path) -> Path | None:
    """Builds the machine's second disk, if it has one. Raises PlatformError."""
    return create_data_disk(settings.data_disk, settings.disk_format, into) if settings.data_disk else None


def _has_vhost(settings: VmSettings, is_bridged: bool) -> bool:
    """Returns whether the kernel moves the machine's packets: where it can, unless the settings say otherwise."""
    return settings.vhost is not Vhost.OFF and is_bridged and settings.nic is Nic.VIRTIO and may_use_vhost()


def _nodes(spec: MachineSpec, settings: VmSettings) -> tuple[int, ...]:
    """Returns the nodes that the machine's memory is bound to. Raises PlatformError where the kernel lists none."""
    if not settings.bind_memory or spec.pin is None:
        return ()
    nodes = find_nodes(read_core_list(spec.pin))
    if not nodes:
        raise PlatformError("This host lists no NUMA nodes, so memory cannot be bound. Remove `bind_memory`.")
    return nodes


KIND = PlatformKind(
    name="vm",
    title="virtual machine",
    plural="virtual machines",
    maker=VmPlatform(),
    fitting=SEVERAL_LINES | {"image", "network", "pin", "disk"},
    settings_section=VmSettings,
    installs=True,
    rank=40,
)
