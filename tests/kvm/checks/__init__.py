"""The checks, in the order in which they run."""

from tests.kvm.checks import accelerator, commands, devices, resources
from tests.kvm.checks.check import Check

CHECKS: tuple[Check, ...] = (*accelerator.CHECKS, *resources.CHECKS, *devices.CHECKS, *commands.CHECKS)
