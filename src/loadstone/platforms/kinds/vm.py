"""The platform `vm`: what it needs, how a declared machine becomes a virtual one."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from loadstone.model.machine import MachineSpec, NetworkKind
from loadstone.platforms.contract import Attachment, Machine, MachineContext
from loadstone.platforms.fabric import may_make_networks
from loadstone.platforms.kind import OWN_LINES, PlatformKind, own_settings
from loadstone.platforms.local import refuse_line_speed
from loadstone.platforms.vm.accelerator import found_accelerator
from loadstone.platforms.vm.command import QEMU, Layout
from loadstone.platforms.vm.image import disk_of, image, unknown_image
from loadstone.platforms.vm.machine import short, virtual_machine
from loadstone.platforms.vm.settings import USER_MODE, VmSettings


class VmPlatform:
    """Makes virtual machines."""

    def attachment(self, spec: MachineSpec) -> Attachment:
        """By a tap where it may and is not told otherwise; a user-mode network else."""
        is_plain = spec.network is NetworkKind.AUTO and spec.mbit_per_s is None
        if spec.network is NetworkKind.USER or (is_plain and not may_make_networks()):
            refuse_line_speed(spec, USER_MODE)
            return Attachment.NONE
        return Attachment.TAP

    async def missing(self, spec: MachineSpec) -> str:
        """What must be installed first."""
        needs = {QEMU: "qemu-system-x86", "qemu-img": "qemu-utils", "cpio": "cpio", "nsenter": "util-linux"}
        absent = [package for tool, package in needs.items() if shutil.which(tool) is None]
        if absent:
            return f"Virtual machines need {', '.join(absent)}: `apt-get install {' '.join(absent)}`."
        return unknown_image(spec.image)

    @asynccontextmanager
    async def machine(self, context: MachineContext) -> AsyncIterator[Machine]:
        """A virtual machine, up."""
        spec = context.spec
        built = await asyncio.to_thread(image, spec.image)
        requested = own_settings(spec, VmSettings).accelerator
        accelerator = (await found_accelerator(requested)).accelerator
        disk = await asyncio.to_thread(disk_of, built, spec, context.journal.folder / f"{context.name}.qcow2")
        sockets = short(context.journal, context.name, context.logs / f"{context.name}-console.log")
        layout = Layout(context.name, spec, accelerator, built, sockets, tuple(context.nics.values()), disk)
        try:
            async with virtual_machine(context, layout) as machine:
                yield machine
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
    settings_section=VmSettings,
    installs=True,
    rank=40,
)
