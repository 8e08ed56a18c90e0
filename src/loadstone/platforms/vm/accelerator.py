"""Whether this host can run virtual machines by hardware: found out by booting one, never by what files there are."""

import asyncio
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from loadstone.host import locks
from loadstone.model.errors import PlatformError
from loadstone.model.machine import MachineSpec
from loadstone.platforms.contract import MachineContext
from loadstone.platforms.journal import open_journal, private_folder, runtime_folder
from loadstone.platforms.vm.command import Layout
from loadstone.platforms.vm.image import minimal
from loadstone.platforms.vm.machine import short, virtual_machine
from loadstone.platforms.vm.settings import Accelerator

DEVICE = Path("/dev/kvm")
PROBE_S = 10.0
"""By hardware a machine is up in one second; some hosts have the device and then emulate every privileged step."""


@dataclass(frozen=True)
class DetectedAccelerator:
    """What there is."""

    accelerator: Accelerator
    why: str


async def found_accelerator(requested: Accelerator) -> DetectedAccelerator:
    """The accelerator to use; raises PlatformError when the one asked for is not there."""
    if requested is Accelerator.TCG:
        return DetectedAccelerator(Accelerator.TCG, "asked for")
    detected = await _detect()
    if requested is Accelerator.KVM and detected.accelerator is not Accelerator.KVM:
        remedy = f"Use `accelerator=auto` or `tcg`, or remove {stored_accelerator_file()} to try KVM again."
        raise PlatformError(f"This host has no working KVM: {detected.why}. {remedy}")
    return detected


def remembered() -> DetectedAccelerator | None:
    """What was found since this host was booted; None when no machine asked yet."""
    if not stored_accelerator_file().is_file():
        return None
    stored = json.loads(stored_accelerator_file().read_text())
    return DetectedAccelerator(Accelerator(stored["accelerator"]), stored["why"])


def foresee_emulation() -> str:
    """Returns why virtual machines of this host will be emulated; empty where they will not, or where it is unknown."""
    detected = remembered()
    if detected is not None:
        return detected.why if detected.accelerator is Accelerator.TCG else ""
    return "" if os.access(DEVICE, os.R_OK | os.W_OK) else _no_device()


def _no_device() -> str:
    reason = "this user may not open it" if DEVICE.exists() else "it is not there"
    return f"{DEVICE}: {reason}"


def stored_accelerator_file() -> Path:
    """The file that holds it; without it the next machine finds out anew."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:  # sandboxes hide it
        boot = str(int(psutil.boot_time()))
    return runtime_folder() / f"accelerator-{boot}.json"


async def _detect() -> DetectedAccelerator:
    """The probe's answer; kept until the host boots anew."""
    async with locks.waiting(private_folder() / "accelerator.lock"):
        known = remembered()
        if known is None:
            known = await _probe()
            unfinished = stored_accelerator_file().with_suffix(".part")
            unfinished.write_text(json.dumps(asdict(known)))
            unfinished.replace(stored_accelerator_file())
    return known


async def _probe() -> DetectedAccelerator:
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        return DetectedAccelerator(Accelerator.TCG, _no_device())
    built = await asyncio.to_thread(minimal)
    async with open_journal() as journal:
        context = MachineContext("probe", MachineSpec(memory=256), journal.folder, journal)
        sockets = short(journal, "probe", journal.folder / "console.log")
        layout = Layout("probe", context.spec, Accelerator.KVM, built, sockets)
        try:
            async with virtual_machine(context, layout, PROBE_S, is_cold=True):
                return DetectedAccelerator(Accelerator.KVM, "a machine was booted with it")
        except PlatformError as error:
            first = str(error).split("; console kept")[0].replace(str(journal.folder), "")[:300]
            return DetectedAccelerator(
                Accelerator.TCG, f"{DEVICE} is there, but a machine did not boot with it: {first}"
            )
