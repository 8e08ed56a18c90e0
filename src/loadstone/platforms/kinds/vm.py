"""The platform `vm`: what it needs, how a declared machine becomes a virtual one."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from loadstone.model.machine import MachineSpec, NetworkKind
from loadstone.platforms.contract import Attachment, MachineContext, Place
from loadstone.platforms.fabric import may_make_networks
from loadstone.platforms.kind import OWN_LINES, PlatformKind, own_settings
from loadstone.platforms.local import refuse_rate
from loadstone.platforms.vm.accelerator import found_accelerator
from loadstone.platforms.vm.command import QEMU, Layout
from loadstone.platforms.vm.image import disk_of, image, unknown_image
from loadstone.platforms.vm.machine import short, virtual_machine
from loadstone.platforms.vm.settings import USER_MODE, VmSettings


class VmPlatform:
    """Makes virtual machines."""

    def attachment(self, machine: MachineSpec) -> Attachment:
        """By a tap where it may and is not told otherwise; a user-mode network else."""
        is_plain = machine.network is NetworkKind.AUTO and machine.rate is None
        if machine.network is NetworkKind.USER or (is_plain and not may_make_networks()):
            refuse_rate(machine, USER_MODE)
            return Attachment.NONE
        return Attachment.TAP

    async def missing(self, machine: MachineSpec) -> str:
        """What must be installed first."""
        needs = {QEMU: "qemu-system-x86", "qemu-img": "qemu-utils", "cpio": "cpio", "nsenter": "util-linux"}
        absent = [package for tool, package in needs.items() if shutil.which(tool) is None]
        if absent:
            return f"Virtual machines need {', '.join(absent)}: `apt-get install {' '.join(absent)}`."
        return unknown_image(machine.image)

    @asynccontextmanager
    async def place(self, site: MachineContext) -> AsyncIterator[Place]:
        """A virtual machine, up."""
        machine = site.machine
        made = await asyncio.to_thread(image, machine.image)
        asked = own_settings(machine, VmSettings).accelerator
        accelerator = (await found_accelerator(asked)).accelerator
        disk = await asyncio.to_thread(disk_of, made, machine, site.journal.folder / f"{site.name}.qcow2")
        sockets = short(site.journal, site.name, site.logs / f"{site.name}-console.log")
        layout = Layout(site.name, machine, accelerator, made, sockets, tuple(site.nics.values()), disk)
        try:
            async with virtual_machine(site, layout) as place:
                yield place
        finally:
            for left in (sockets.qmp, sockets.agent, disk):
                if left is not None:
                    left.unlink(missing_ok=True)


KIND = PlatformKind(
    name="vm",
    title="virtual machine",
    plural="virtual machines",
    maker=VmPlatform(),
    fitting=OWN_LINES | {"image", "network", "pin", "disk"},
    own=VmSettings,
    rank=40,
)
