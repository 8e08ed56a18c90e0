"""Injecting a fault into a system under test while it is measured, and looking what becomes of the machine."""

import asyncio
import time
from dataclasses import dataclass, replace

from loadstone.model.errors import PlatformError
from loadstone.model.fault import FaultRecord, PlannedFault
from loadstone.testbed import Testbed


@dataclass
class Injector:
    """Does it once, to the first machine of the testbed."""

    testbed: Testbed
    planned: PlannedFault
    lead_s: float
    """From the start of the run to its steady state."""
    record: FaultRecord | None = None
    """What was done; None until then."""

    async def run(self, origin_s: float) -> None:
        """Waits for its time after the start at `origin_s` of the monotonic clock, then does it."""
        await asyncio.sleep(max(0.0, origin_s + self.lead_s + self.planned.at_s - time.monotonic()))
        machine = next(iter(self.testbed.machines.values()))
        now_s = time.time()
        self.record = FaultRecord(self.planned.kind, now_s)
        try:
            await machine.fail(self.planned.kind)
        except PlatformError as error:
            self.record = FaultRecord(self.planned.kind, now_s, refused=str(error))

    def concluded(self) -> FaultRecord | None:
        """What was done, with what became of the machine by now."""
        if self.record is None:
            return None
        machine = next(iter(self.testbed.machines.values()))
        later = {
            name: recovered_s for name, recovered_s in machine.recovery.items() if recovered_s >= self.record.at_unix_s
        }
        return replace(self.record, live_unix_s=later.get("live"), protected_unix_s=later.get("protected"))
