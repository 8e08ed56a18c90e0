"""The checks, in the order in which they run."""

from tests.kvm.checks import accelerator, commands, resources
from tests.kvm.checks.check import Check

CHECKS: tuple[Check, ...] = (*accelerator.CHECKS, *resources.CHECKS, *commands.CHECKS)
