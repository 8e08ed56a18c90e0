"""The accelerator: no KVM before its module is loaded, KVM afterwards, without a restart."""

import time
from pathlib import Path

from loadstone.platforms.vm.accelerator import detect_accelerator
from loadstone.platforms.vm.settings import Accelerator
from tests.kvm.checks.check import COLD, Check, Machines, load_module, read_argv, run_command


async def _without_module(machines: Machines) -> str:
    assert not Path("/dev/kvm").exists()
    detected = await detect_accelerator(Accelerator.AUTO)
    assert detected.accelerator is Accelerator.TCG, detected
    return detected.why


async def _probe(machines: Machines) -> str:
    load_module()
    started = time.monotonic()
    detected = await detect_accelerator(Accelerator.AUTO)
    assert detected.accelerator is Accelerator.KVM, detected
    return f"{detected.why}, in {time.monotonic() - started:.1f} s"


async def _doctor(machines: Machines) -> str:
    code, text = await run_command("doctor")
    line = next((line for line in text.splitlines() if "virtual machines by hardware" in line), "")
    assert "KVM: a machine was booted with it" in text, line
    return f"code {code}: {' '.join(line.split())}"


async def _processor(machines: Machines) -> str:
    (machine,) = await machines.start(COLD)
    argv = read_argv(machine.pid)
    assert argv[argv.index("-cpu") + 1] == "host", argv
    assert argv[argv.index("-accel") + 1] == "kvm", argv
    outside = await machine.read_outside()
    assert outside and outside["exits"] > 0, outside
    return f"-cpu host, boot {machine.facts['boot_s']} s, {outside['exits']} exits, CPU {outside['cpu']}"


CHECKS = (
    Check("no-module", "without KVM's module machines are emulated", _without_module, needs_module=False),
    Check("probe", "KVM is detected once its module is loaded", _probe, needs_module=False),
    Check("doctor", "doctor reports KVM", _doctor),
    Check("processor", "a machine has the host's processor, and its exits are counted", _processor),
)
