"""Longer waits for nested machines: an emulated host is many times slower than a host, and slower yet where other work
keeps the emulator from running.

`python -m tests.kvm.patience ARGUMENT...` is the product's command with these waits.
"""

from loadstone.cli.main import main
from loadstone.measure import monitor
from loadstone.platforms.vm import accelerator, guest, state_transfer
from loadstone.platforms.vm import machine as vm_machine

NESTED_TIMEOUT_S = 1200.0
"""Longest time for each step of a machine: its start, its boot, a state saved or loaded, the start of a program."""
SAMPLE_TIMEOUT_S = 30.0
"""Longest time to read the counters of a machine."""


def extend_timeouts() -> None:
    """Lets the steps of a machine take as long as on an emulated host."""
    monitor.ASKED_S = SAMPLE_TIMEOUT_S
    accelerator.PROBE_TIMEOUT_S = NESTED_TIMEOUT_S
    vm_machine.VM_CONNECT_TIMEOUT_S = NESTED_TIMEOUT_S
    vm_machine.VM_BOOT_TIMEOUT_S = NESTED_TIMEOUT_S
    vars(vm_machine)["LOAD_S"] = NESTED_TIMEOUT_S  # which that module imports
    state_transfer.SAVE_S = NESTED_TIMEOUT_S
    guest.GUEST_START_TIMEOUT_S = NESTED_TIMEOUT_S


if __name__ == "__main__":
    extend_timeouts()
    main()
