"""The platform `vm`: what it needs, how a declared machine becomes a virtual one."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from loadstone.model.machine import MachineSpec
from loadstone.platforms.contract import MachineContext, Place
from loadstone.platforms.vm.accelerator import found_accelerator
from loadstone.platforms.vm.command import QEMU, Layout
from loadstone.platforms.vm.image import disk_of, image, unknown_image
from loadstone.platforms.vm.machine import short, virtual_machine


class VmPlatform:
    """Makes virtual machines."""

    name = "vm"

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
        accelerator = (await found_accelerator(machine.accelerator)).accelerator
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
