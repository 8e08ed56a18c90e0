"""The platform `pair`: what it needs, and how a declared machine becomes two that are kept as one."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from loadstone.model.machine import MINIMAL, MachineSpec
from loadstone.platforms.contract import Attachment, Machine, MachineContext
from loadstone.platforms.fabric import may_make_networks
from loadstone.platforms.kind import OWN_LINES, PlatformKind, get_own_settings
from loadstone.platforms.pair.build import explain_unfit_qemu, is_known_build, remember_build
from loadstone.platforms.pair.disk import PairSettings, describe_idle_settings
from loadstone.platforms.pair.gate import pass_gate
from loadstone.platforms.pair.local import build_pair_layout, describe_guest, pair_machine
from loadstone.platforms.vm.command import QEMU
from loadstone.platforms.vm.host_identity import build_of_qemu
from loadstone.platforms.vm.image import explain_unknown_image


class PairPlatform:
    """Makes pairs."""

    def choose_attachment(self, spec: MachineSpec) -> Attachment:
        """Returns the attachment by two taps, one for each side."""
        return Attachment.TWO_TAPS

    async def explain_missing(self, spec: MachineSpec) -> str:
        """Returns what must be installed first or cannot be provided, empty if nothing."""
        needs = {QEMU: "qemu-system-x86", "qemu-img": "qemu-utils", "cpio": "cpio", "nsenter": "util-linux"}
        absent = [package for tool, package in needs.items() if shutil.which(tool) is None]
        if absent:
            return f"Pairs need {', '.join(absent)}: `apt-get install {' '.join(absent)}`."
        unfit = await asyncio.to_thread(explain_unfit_qemu)
        if unfit:
            return unfit
        if not may_make_networks():
            return "Pairs need their own networks, which require root."
        if (spec.cpus or 1) != 1:
            return (
                f"`cpus={spec.cpus}` is not supported: "
                "a pair has one processor, since parallel work cannot be replayed."
            )
        has_disk = spec.disk > 0 or spec.image != MINIMAL
        return explain_unknown_image(spec.image) or describe_idle_settings(
            has_disk, get_own_settings(spec, PairSettings)
        )

    @asynccontextmanager
    async def start_machine(self, context: MachineContext) -> AsyncIterator[Machine]:
        """A pair, up and protected; or its machine alone, where that is asked for."""
        guest = await describe_guest(context)
        layout = build_pair_layout(context, guest)
        async with pair_machine(context, guest, layout) as machine:
            if not layout.is_protected:
                yield machine
                return
            if not await asyncio.to_thread(is_known_build):
                await pass_gate(machine, build_of_qemu())
                remember_build()
            async with machine.keep_running():
                yield machine


KIND = PlatformKind(
    name="pair",
    title="fault-tolerant pair of virtual machines",
    plural="fault-tolerant pairs",
    maker=PairPlatform(),
    fitting=OWN_LINES | {"image", "disk"},
    settings_section=PairSettings,
    installs=True,
    rank=45,
)
