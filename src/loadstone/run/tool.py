"""A tool in the driver's place: it is started, its output is kept, and its figures become the driver's events."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from loadstone.host import launch
from loadstone.host.cores import on_cores
from loadstone.host.process import stop
from loadstone.model.errors import DriverError
from loadstone.model.records.events import EVENT, Event, PhaseChange
from loadstone.model.records.result import PhaseLengths
from loadstone.run.driver import DRIVER_LONGEST_LINE
from loadstone.run.tool_events import ToolJob, build_events, build_start, compute_lead_s
from loadstone.store.documents import read_raw
from loadstone.store.figures import DRIFT_PCT, STEADY_PHASE, TOOL_CLOCK
from loadstone.store.folder import RunFolder
from loadstone.store.read import PLAN
from loadstone.tools.kind import ToolFigures, ToolLine, ToolOutput

PHASE_LENGTHS: TypeAdapter[PhaseLengths] = TypeAdapter(PhaseLengths)
OUTPUT = "tool-output.txt"
"""File of an iteration with everything that the tool printed."""
PREPARE_TIMEOUT_S = 1800.0
TOOL_GRACE_S = 600.0
"""Longest time that a tool may take beyond the steady state."""
COUNTED_TIMEOUT_S = 4 * 3600.0
"""Longest time of a tool that ends after a number of operations."""
OUTPUT_TIMEOUT_S = 10.0
"""Longest time from the end of a tool to the end of its output."""
TOOL_LETTERS = 500
"""Letters of a tool's output in an error."""


@dataclass
class ToolDriving:
    """A tool at work, as the executor sees a driver."""

    job: ToolJob
    process: asyncio.subprocess.Process
    log: Path
    role: str

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    @property
    def output(self) -> Path:
        """File with what it printed."""
        return self.job.task.folder / OUTPUT

    async def read_events(self) -> AsyncIterator[tuple[str, Event]]:
        """The driver's events, each with its line. Raises DriverError where the tool fails or prints another output."""
        start_s, start_unix_s = time.monotonic(), time.time()
        yield _with_line(build_start(self.job, start_unix_s))
        reading = asyncio.create_task(self._read(start_s))
        try:
            async for phase in self._phases():
                yield _with_line(phase)
            figures = await self._concluded(reading)
        finally:
            reading.cancel()
        self._note_clocks(figures)
        for event in build_events(self.job, figures):
            yield _with_line(event)

    async def send(self, message: Mapping[str, object]) -> None:
        """Refuses to wait for a common start: a tool begins when it is started."""
        raise DriverError(f"{self.job.kind.name} cannot start together with other loads. Run it alone.")

    def end_early(self) -> None:
        """Interrupts it and everything it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)

    async def _phases(self) -> AsyncIterator[PhaseChange]:
        """The phases as planned, while the tool runs."""
        yield PhaseChange("phase", "warm-up", 0.0)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), self.job.task.lead_s)
            return
        yield PhaseChange("phase", STEADY_PHASE, self.job.task.lead_s)

    async def _read(self, start_s: float) -> ToolOutput:
        """Keeps every line in a file as it comes, and notes when that was."""
        assert self.process.stdout is not None
        lines = []
        with self.output.open("wb") as file:
            async for line in self.process.stdout:
                file.write(line)
                lines.append(ToolLine(time.monotonic() - start_s, line.decode(errors="replace")))
        return ToolOutput(lines)

    def _note_clocks(self, figures: ToolFigures) -> None:
        """Writes the phases as they were into the plan, since a tool keeps its own time. Writes the drift of its clock
        where that is too large.
        """
        folder = RunFolder(self.job.task.folder)
        phases = PhaseLengths(0.0, compute_lead_s(self.job, figures), figures.steady_s, 0.0)
        written = PHASE_LENGTHS.dump_python(phases, mode="json", by_alias=True)
        folder.write(PLAN, {**read_raw(folder.path / PLAN), "phases": written})
        if figures.clock_drift_pct is not None:
            folder.write(TOOL_CLOCK, {DRIFT_PCT: figures.clock_drift_pct})

    async def _concluded(self, reading: "asyncio.Task[ToolOutput]") -> ToolFigures:
        """Waits for the tool's end; returns its figures. Raises DriverError."""
        task, name = self.job.task, self.job.kind.name
        limit_s = COUNTED_TIMEOUT_S if task.operations else task.steady_s + TOOL_GRACE_S
        try:
            code = await asyncio.wait_for(self.process.wait(), limit_s)
            output = await asyncio.wait_for(reading, OUTPUT_TIMEOUT_S)
        except TimeoutError:
            await stop(self.process)
            raise DriverError(f"{name} did not end within {limit_s:g} s. {self._printed()}") from None
        if code:
            raise DriverError(f"{name} ended with code {code}. {self._printed()}")
        return self._figures(output)

    def _figures(self, output: ToolOutput) -> ToolFigures:
        try:
            return self.job.kind.figures(self.job.task, output)
        except (ValueError, LookupError, TypeError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise DriverError(
                f"The output of {self.job.kind.name} could not be read ({reason}). {self._printed()}"
            ) from None

    def _printed(self) -> str:
        """The end of what it printed, and the file with all of it."""
        texts = [file.read_text(errors="replace").strip() for file in (self.log, self.output) if file.exists()]
        last = "; ".join(text[-TOOL_LETTERS:] for text in texts if text)
        return f"Its output is in {self.output}: {last or 'it printed nothing'}"


@asynccontextmanager
async def start_tool(job: ToolJob, log: Path, role: str, cores: str = "") -> AsyncIterator[ToolDriving]:
    """Prepares a tool and starts it, on these cores or all; it is gone when the block ends. Raises DriverError."""
    prefix = on_cores(cores.replace(",", "+")) if cores else []
    for name, text in job.kind.files(job.task).items():
        (job.task.folder / name).write_text(text)
    for argv in job.kind.prepare(job.task):
        await _prepare(job.kind.name, argv, log)
    with log.open("ab") as errors:
        process = await launch.start(
            *prefix,
            *job.kind.command(job.task),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            limit=DRIVER_LONGEST_LINE,
        )
    try:
        if job.kind.request is not None:
            assert process.stdin is not None
            process.stdin.write(job.kind.request(job.task).encode() + b"\n")
        yield ToolDriving(job, process, log, role)
    finally:
        if process.returncode is None:
            await stop(process)


async def _prepare(name: str, argv: list[str], log: Path) -> None:
    """Runs one of a tool's commands to its end. Raises DriverError."""
    with log.open("ab") as output:
        process = await launch.start(
            *argv, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    try:
        code = await asyncio.wait_for(process.wait(), PREPARE_TIMEOUT_S)
    except BaseException:
        await stop(process)
        raise
    if code:
        printed = log.read_text(errors="replace").strip()[-TOOL_LETTERS:]
        raise DriverError(f"{name} could not be prepared (code {code}). Its output is in {log}: {printed}")


def _with_line(event: Event) -> tuple[str, Event]:
    """Returns the line of an event, and the event as it is read from that line."""
    line = EVENT.dump_json(event, by_alias=True)
    return line.decode() + "\n", EVENT.validate_json(line)
