"""The witness of a pair over hosts on its host: it is started, adopted from a supervisor that is gone, and ended."""

import asyncio
import contextlib
from dataclasses import dataclass, field
from pathlib import Path

from loadstone.fleet.contract import FleetError
from loadstone.host import launch
from loadstone.host.adopted import AdoptedProcess
from loadstone.host.programs import pair
from loadstone.host.tasks import end_tasks
from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.pair.command import RemotePeer, build_credential_options
from loadstone.platforms.pair.lines import AgentLine
from loadstone.platforms.pair.record import ProcessRecord

WITNESS_READY_TIMEOUT_S = 10.0
WITNESS_STOP_TIMEOUT_S = 2.0
LISTENING = "listening"
"""Report of a witness that answers."""


@dataclass
class HostedWitness:
    """One witness, which ends when nobody is connected to its socket for its lease."""

    folder: Path
    """Of the pair on this host."""
    process: asyncio.subprocess.Process | AdoptedProcess | None = None
    _line: AgentLine = field(init=False)
    _reading: asyncio.Task[None] | None = None
    _address: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def __post_init__(self) -> None:
        self._line = AgentLine(self.folder / "witness.ctl")

    @property
    def is_up(self) -> bool:
        """Whether its process runs."""
        return self.process is not None and self.process.returncode is None

    async def start(self, peer: RemotePeer, lease_s: int, log: Path, journal: ResourceJournal) -> str:
        """Starts it; HOST:PORT where it answers. Raises FleetError."""
        generations = self.folder / "generations"
        generations.mkdir()
        argv = [pair(), "witness", "--folder", str(generations), "--listen", f"{peer.address}:0"]
        argv += build_credential_options(peer.certificate, peer.key, peer.authority)
        argv += ["--control", str(self._line.socket), "--lease-s", str(lease_s)]
        nowhere = asyncio.subprocess.DEVNULL
        held = (journal.lock,) if lease_s else ()
        with log.open("wb") as errors:
            self.process = await launch.start(
                *argv, stdin=nowhere, stdout=nowhere, stderr=errors, pass_fds=held, start_new_session=True
            )
        journal.note_process(self.process.pid, f"witness of the pair in {self.folder.name}")
        try:
            return await self._connect()
        except FleetError as error:
            raise FleetError(f"{error} {log.read_text(errors='replace').strip()[-300:]}") from None

    async def adopt(self, record: ProcessRecord) -> None:
        """Takes over a witness that runs. Raises FleetError where it does not answer."""
        self.process = AdoptedProcess(record.pid, record.start)
        await self._connect()

    async def _connect(self) -> str:
        if await self._line.connect(lambda: self.is_up):
            self._reading = asyncio.create_task(self._read())
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(self._address, WITNESS_READY_TIMEOUT_S)
        raise FleetError(f"The witness in {self.folder.name} does not answer.")

    async def _read(self) -> None:
        """Takes what it reports: a witness whose reports are not read takes its keeper for gone."""
        async for report in self._line.read_reports():
            if report["event"] == LISTENING and not self._address.done():
                self._address.set_result(report["address"])

    async def leave(self) -> None:
        """Keeps it no more: it runs on, and waits for another keeper."""
        if self._reading is not None:
            await end_tasks([self._reading])
        self._line.close()

    async def kill(self) -> None:
        """Kills it, where it runs."""
        if self.process is not None and self.is_up:
            self.process.kill()
            await self.process.wait()

    async def end(self) -> None:
        """Has it end, where it runs."""
        if self.process is not None:
            await self._line.order("stop")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.process.wait(), WITNESS_STOP_TIMEOUT_S)
            await self.kill()
        if self._reading is not None:
            self._line.close()
            await self._reading
