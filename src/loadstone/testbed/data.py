"""An application's data: put into its database before anybody comes, and again before each iteration of a run.

The reference server's own words fill a database that is empty, all or nothing, and restore one that is filled to what
it was at the beginning, whatever serves the pages.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from loadstone.host.http import post
from loadstone.host.process import Readiness
from loadstone.model.errors import ServiceError
from loadstone.model.machine import SERVER
from loadstone.model.target import Endpoint
from loadstone.model.topology import get_topology
from loadstone.platforms.contract import ProgramHost
from loadstone.testbed.running import wait_until_done


@dataclass
class DataSet:
    """The data of one application, put there from a machine of it."""

    need: str
    machine: ProgramHost
    database: str
    """Where that is, as its service says it."""
    rows: Mapping[str, int]
    copied_s: float | None = None
    """How long it took to copy what was kept of an earlier filling; None where nothing was."""
    seconds: list[float] = field(default_factory=list)
    """How long each filling or restoring took."""
    keepers: list[Endpoint] = field(default_factory=list)
    """Servers that keep answers, which are no longer true when the data are restored."""

    async def put(self) -> float:
        """Fills the database, or restores it; how long that took, in seconds. Raises ServiceError."""
        tables = get_topology(self.need).data
        assert tables is not None
        start_s = time.monotonic()
        name = f"{self.machine.name}-data-{len(self.seconds)}"
        command = [SERVER, tables.server, "--only-fill", *tables.build_options(self.database, self.rows)]
        await wait_until_done(await self.machine.start(name, command, Readiness.NONE), "The database")
        for server in self.keepers:
            try:
                await post(server, tables.cache_reset)
            except (OSError, ValueError) as error:
                raise ServiceError(
                    f"{server} still has responses of the data before they were restored: {error}. Check its cache."
                ) from None
        self.seconds.append(time.monotonic() - start_s)
        return self.seconds[-1]

    def __str__(self) -> str:
        rows = ", ".join(f"{count:,} {name}" for name, count in self.rows.items())
        text = f"{rows}; filled in {self.seconds[0]:.2g} s"
        if self.copied_s is not None:
            text = (
                f"{rows}; copied from a filled database in {self.copied_s:.2g} s, restored in {self.seconds[0]:.2g} s"
            )
        if len(self.seconds) > 1:
            later = ", ".join(f"{seconds:.2g}" for seconds in self.seconds[1:])
            text += f"; restored before each later iteration, in {later} s"
        return text
