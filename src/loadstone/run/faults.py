"""Injecting a fault into a machine of the system under test while it is measured, and recording its recovery."""

import asyncio
import time
from dataclasses import dataclass, replace

from loadstone.model.errors import PlatformError
from loadstone.model.fault import FaultRecord, PlannedFault
from loadstone.platforms.contract import Machine


@dataclass
class Injector:
    """Injects a fault once, into one machine."""

    machine: Machine
    planned: PlannedFault
    lead_s: float
    """From the start of the run to its steady state."""
    record: FaultRecord | None = None
    """What was done; None until then."""

    async def run(self, origin_s: float) -> None:
        """Waits for its time after the start at `origin_s` of the monotonic clock, then does it."""
        await asyncio.sleep(max(0.0, origin_s + self.lead_s + self.planned.at_s - time.monotonic()))
        now_s = time.time()
        self.record = FaultRecord(self.planned.kind, now_s, machine=self.machine.name)
        try:
            await self.machine.fail(self.planned.kind)
        except PlatformError as error:
            self.record = replace(self.record, refused=str(error))

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
            return f"{about}: not injected, since the load ended before"
        if record.refused:
            return f"{about}: not injected. {record.refused}"
        if record.live_unix_s is None:
            return f"{about}: injected"
        return f"{about}: injected; active again after {record.live_unix_s - record.at_unix_s:.3g} s"
