"""Whether this host can run virtual machines by hardware: found out by booting one, never by what files there are."""

import asyncio
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from loadstone.host import locks
from loadstone.host.cache import compute_digest
from loadstone.host.identity import read_boot_id
from loadstone.model.errors import PlatformError
from loadstone.model.machine import MachineSpec
from loadstone.platforms.contract import MachineContext
from loadstone.platforms.journal import find_runtime_folder, make_private_folder, open_journal
from loadstone.platforms.vm.command import Layout
from loadstone.platforms.vm.image import make_minimal
from loadstone.platforms.vm.machine import shorten_sockets, start_virtual_machine
from loadstone.platforms.vm.settings import Accelerator

DEVICE = Path("/dev/kvm")
MODULES_FOLDER = Path("/sys/module")
HARDWARE_MODULES = ("kvm_intel", "kvm_amd")
"""Kernel modules of KVM that use the processor's own virtualization."""
PROBE_TIMEOUT_S = 60.0
"""Longest boot of the probe: a quiet host takes a second, a busy host or one within a machine takes many."""
EMULATED_PROBE_TIMEOUT_S = 10.0
"""The same without a module for hardware: such hosts have the device, and emulate every privileged instruction."""


@dataclass(frozen=True)
class DetectedAccelerator:
    """What there is."""

    accelerator: Accelerator
    why: str


async def detect_accelerator(requested: Accelerator) -> DetectedAccelerator:
    """The accelerator to use; raises PlatformError when the one asked for is not there."""
    if requested is Accelerator.TCG:
        return DetectedAccelerator(Accelerator.TCG, "asked for")
    detected = await _detect()
    if requested is Accelerator.KVM and detected.accelerator is not Accelerator.KVM:
        raise PlatformError(f"This host has no working KVM: {detected.why}. {_remedy()}")
    return detected


def _remedy() -> str:
    if not _may_open():
        return "Use `accelerator=auto` or `tcg`, or load KVM's module (`modprobe kvm_intel` or `kvm_amd`)."
    return f"Use `accelerator=auto` or `tcg`, or remove {find_accelerator_file()} to try KVM again."


def read_detected() -> DetectedAccelerator | None:
    """Returns the accelerator that was detected since this host was booted, None when no machine asked yet."""
    if not find_accelerator_file().is_file():
        return None
    stored = json.loads(find_accelerator_file().read_text())
    return DetectedAccelerator(Accelerator(stored["accelerator"]), stored["why"])


def foresee_emulation() -> str:
    """Returns why virtual machines of this host will be emulated; empty where they will not, or where it is unknown."""
    detected = read_detected()
    if detected is not None:
        return detected.why if detected.accelerator is Accelerator.TCG else ""
    return "" if _may_open() else _no_device()


def _no_device() -> str:
    reason = "this user may not open it" if DEVICE.exists() else "it is not there"
    return f"{DEVICE}: {reason}"


def find_accelerator_file() -> Path:
    """Returns the file of the last probe's answer. Its name has all that the answer depends on, so that a module which
    is loaded later leads to another probe.
    """
    return find_runtime_folder() / f"accelerator-{compute_digest(read_boot_id().encode(), _kvm_state().encode())}.json"


def _kvm_state() -> str:
    """Returns the device's last change and access, and KVM's loaded modules."""
    try:
        changed_ns = DEVICE.stat().st_ctime_ns
    except OSError:
        return ""
    modules = sorted(path.name for path in MODULES_FOLDER.glob("kvm*"))
    return f"{changed_ns} {_may_open()} {' '.join(modules)}"


def _may_open() -> bool:
    return os.access(DEVICE, os.R_OK | os.W_OK)


async def _detect() -> DetectedAccelerator:
    """Returns the probe's answer, and stores it. The absence of the device is not stored: it may come at any time."""
    if not _may_open():
        return DetectedAccelerator(Accelerator.TCG, _no_device())
    async with locks.wait_for_lock(make_private_folder() / "accelerator.lock"):
        known = read_detected()
        if known is None:
            known = await _probe()
            unfinished = find_accelerator_file().with_suffix(".part")
            unfinished.write_text(json.dumps(asdict(known)))
            unfinished.replace(find_accelerator_file())
    return known


def _probe_timeout_s() -> float:
    has_hardware = any((MODULES_FOLDER / name).exists() for name in HARDWARE_MODULES)
    return PROBE_TIMEOUT_S if has_hardware else EMULATED_PROBE_TIMEOUT_S


async def _probe() -> DetectedAccelerator:
    built = await asyncio.to_thread(make_minimal)
    async with open_journal() as journal:
        context = MachineContext("probe", MachineSpec(memory=256), journal.folder, journal)
        sockets = shorten_sockets(journal, "probe", journal.folder / "console.log")
        layout = Layout("probe", context.spec, Accelerator.KVM, built, sockets)
        try:
            async with start_virtual_machine(context, layout, _probe_timeout_s(), is_cold=True):
                return DetectedAccelerator(Accelerator.KVM, "a machine was booted with it")
        except PlatformError as error:
            first = str(error).split("; console kept")[0].replace(str(journal.folder), "")[:300]
            return DetectedAccelerator(
                Accelerator.TCG, f"{DEVICE} is there, but a machine did not boot with it: {first}"
            )
