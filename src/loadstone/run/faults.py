"""Injecting a fault into a machine of the system under test while it is measured, and recording its recovery."""

import asyncio
import time
from dataclasses import dataclass, replace

from loadstone.model.errors import NotProtectedError, PlatformError
from loadstone.model.fault import FaultRecord, PlannedFault
from loadstone.model.profile import Phases
from loadstone.platforms.contract import Machine

FAULT_DELAY_LIMIT_S = 60.0
"""Longest wait for a pair to be protected again, so that a fault has a side that can take over. It ends half-way to the
end of the steady state: what comes after the fault is measured too.
"""
FAULT_POLL_INTERVAL_S = 0.1


@dataclass
class Injector:
    """Injects a fault once, into one machine."""

    machine: Machine
    planned: PlannedFault
    phases: Phases
    record: FaultRecord | None = None
    """What was done; None until then."""
    late_s: float = 0.0
    """How much later than planned, since a pair was not protected."""

    async def run(self, origin_s: float) -> None:
        """Waits for its time after the start at `origin_s` of the monotonic clock, then does it. A pair whose sides a
        busy host has parted is given some time to be protected again.
        """
        planned_s = origin_s + self.phases.lead_s + self.planned.at_s
        await asyncio.sleep(max(0.0, planned_s - time.monotonic()))
        until_s = planned_s + min(FAULT_DELAY_LIMIT_S, (self.phases.steady_s - self.planned.at_s) / 2)
        while (refused := await self._try()) is not None and time.monotonic() < until_s:
            self.record = None
            self.late_s = time.monotonic() - planned_s
            await asyncio.sleep(FAULT_POLL_INTERVAL_S)
        if refused is not None and self.record is not None:
            self.record = replace(self.record, refused=refused)

    async def _try(self) -> str | None:
        """Does it, or records why it cannot be done; returns why it cannot be done yet, None otherwise."""
        self.record = FaultRecord(self.planned.kind, time.time(), machine=self.machine.name)
        try:
            await self.machine.fail(self.planned.kind)
        except NotProtectedError as error:
            return str(error)
        except PlatformError as error:
            self.record = replace(self.record, refused=str(error))
        return None

    def conclude(self) -> FaultRecord | None:
        """Returns the record of the fault, with the machine's state by now. Returns None without a fault."""
        if self.record is None:
            return None
        later = {
            name: recovered_s
            for name, recovered_s in self.machine.recovery.items()
            if recovered_s >= self.record.at_unix_s
        }
        return replace(self.record, live_unix_s=later.get("live"), protected_unix_s=later.get("protected"))

    def describe(self) -> str:
        """Returns what was done to which machine, and when it served again, as one sentence."""
        about = f"{self.planned.kind} of {self.machine.name} at {self.planned.at_s:g} s of the steady state"
        record = self.conclude()
        if record is None:
            before = " its pair was protected again" if self.late_s else ""
            return f"{about}: not injected, since the load ended before{before}"
        if record.refused:
            return f"{about}: not injected. {record.refused}"
        late = f" {self.late_s:.1f} s late, since the pair was not protected" if self.late_s else ""
        if record.live_unix_s is None:
            return f"{about}: injected{late}"
        return f"{about}: injected{late}; active again after {record.live_unix_s - record.at_unix_s:.3g} s"
