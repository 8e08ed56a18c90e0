"""Runs on the emulated host: every check in turn, each result as a line on the second serial port."""

import asyncio
import contextlib
import subprocess
import sys
import time
import traceback
from pathlib import Path

from tests.kvm.checks import CHECKS
from tests.kvm.checks.check import Check, Machines, load_module
from tests.kvm.outcome import CheckResult, NotPossibleError, Outcome, write_result
from tests.kvm.patience import extend_timeouts

RESULTS = Path("/dev/ttyS1")
CHECK_TIMEOUT_S = 3600.0
"""Longest time for a check: nested machines take minutes to boot while other work keeps the emulator from running."""


async def _perform(check: Check, machines: Machines) -> CheckResult:
    """Runs a check and returns its result; its output and a failure's traceback go to the console."""
    started = time.monotonic()
    try:
        if check.needs_module:
            load_module()
        outcome, detail = Outcome.PASSED, await asyncio.wait_for(check.function(machines), CHECK_TIMEOUT_S)
    except NotPossibleError as error:
        outcome, detail = Outcome.NOT_POSSIBLE, str(error)
    except Exception as error:
        traceback.print_exc()
        outcome, detail = Outcome.FAILED, f"{type(error).__name__}: {error}"
        with contextlib.suppress(Exception):
            await machines.close()
    return CheckResult(check.name, outcome, detail, time.monotonic() - started)


async def _main(names: list[str]) -> None:
    extend_timeouts()
    machines = Machines()
    for check in CHECKS:
        if names and check.name not in names:
            continue
        print(f"--- {check.name}: {check.title}")
        result = await _perform(check, machines)
        print(f"--- {check.name}: {result.outcome} after {result.seconds:.0f} s: {result.detail}")
        with RESULTS.open("w") as port:
            port.write(write_result(result) + "\n")
    await machines.close()
    print(subprocess.run(["dmesg", "--level", "emerg,alert,crit,err"], capture_output=True, text=True).stdout[-4000:])


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1:]))
