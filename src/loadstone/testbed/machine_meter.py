"""The status of machines whose platform reports figures about itself, as the monitors read it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.measure.status import StatusReader
from loadstone.model.records.pair_status import PAIR
from loadstone.platforms.contract import Machine, MachineStatus


@dataclass(frozen=True)
class MachineMeter:
    """Reads the status of one machine."""

    machine: Machine

    async def read(self) -> tuple[float, MachineStatus] | None:
        """Returns when it was read, in seconds, and the figures; None while there are none."""
        status = await self.machine.read_status()
        return None if status is None else (time.monotonic(), status)


def make_meters(machines: Mapping[str, Machine]) -> dict[str, StatusReader]:
    """Returns a meter for each machine whose platform reports figures."""
    reporting = {name: machine for name, machine in machines.items() if machine.reports_status}
    return {f"{name}: {PAIR}": MachineMeter(machine) for name, machine in reporting.items()}
