"""The live view of a run: phase, time left, throughput, p99, errors; where there is no terminal, a line a phase."""

import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from loadstone.cli.screen import errors
from loadstone.model.records.events import End, Event, Interval, PhaseChange, Start, Trouble
from loadstone.run.spec import Beginning
from loadstone.study.runner import Progress

ENDING_TEXT = "load over, ending the system and judging"
TOLD_EVERY_S = 30.0
"""Seconds between lines of progress where there is no terminal."""
MOST_TROUBLES = 3
"""Errors in words that are shown."""


@dataclass
class View:
    """Follows the events of one run after the other."""

    beginning: Beginning | None = None
    phase: str = "starting"
    started: float = 0.0
    last: dict[str, Interval] = field(default_factory=dict)
    """The last interval of each workload."""
    failures: int = 0
    troubles: list[str] = field(default_factory=list)
    phases: set[str] = field(default_factory=set)
    """Phases of the iteration that have begun."""
    is_ending: bool = False
    """Whether the load of the iteration is over."""
    tells_lines: bool = True
    """Whether phases are told where there is no terminal."""
    shown_s: float = 0.0
    _live: Live | None = None

    def __enter__(self) -> Self:
        if errors.is_terminal:
            self._live = Live(console=errors, get_renderable=self._render, refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def begin(self, beginning: Beginning) -> None:
        """A new iteration is about to start."""
        self.beginning, self.phase, self.started = beginning, "starting", time.monotonic()
        self.is_ending = False
        self.last, self.failures, self.troubles, self.phases = {}, 0, [], set()

    def on_event(self, event: Event) -> None:
        """Takes one of the driver's events."""
        match event:
            case Start():
                self.started = time.monotonic()
            case PhaseChange() if event.phase not in self.phases:  # each driver of a tile reports it
                self.phases.add(event.phase)
                self.phase = event.phase.replace("_", " ")
                self._tell(self.phase)
            case Interval():
                self.last[event.part] = event
                self.failures += event.error_count
                self._tell_sometimes()
            case End() if not self.is_ending:
                self.is_ending, self.phase = True, ENDING_TEXT
                self._tell(ENDING_TEXT)
            case Trouble() if len(self.troubles) < MOST_TROUBLES:
                self.troubles.append(str(event))
            case _:
                return

    def _tell(self, state: str) -> None:
        """A line of progress where there is no terminal."""
        if errors.is_terminal or self.beginning is None or not self.tells_lines:
            return
        self.shown_s = time.monotonic()
        left_s = max(0.0, self.beginning.seconds - (self.shown_s - self.started))
        left = "" if self.is_ending else f", {left_s:.0f} s left"
        failed = f", {self.failures} errors" if self.failures else ""
        errors.print(f"{self.beginning.workload}: {state}{left}{failed}", markup=False, soft_wrap=True)

    def _tell_sometimes(self) -> None:
        if time.monotonic() - self.shown_s >= TOLD_EVERY_S:
            self._tell(self.phase)

    def _render(self) -> RenderableType:
        if self.beginning is None:
            return Text("starting the system under test ...", style="dim")
        begun = self.beginning
        if begun.waits_for and not self.last and self.phase == "starting":
            return Text(f"waiting for {begun.waits_for}: loadstone-driver join ADDRESS", style="dim")
        elapsed = min(time.monotonic() - self.started, begun.seconds)
        turn = f"iteration {begun.iteration} of {begun.iterations}"
        title = f"[bold]{escape(begun.workload)}[/]  {turn}, {begun.load}"
        head = Table.grid(padding=(0, 2))
        head.add_row(title, f"[cyan]{self.phase}[/]", f"{begun.seconds - elapsed:4.0f} s left")
        figures = Table.grid(padding=(0, 2))
        for part, last in self.last.items():
            figures.add_row(*_figures(part if len(self.last) > 1 else "", last))
        if not self.last:
            figures.add_row(*_figures("", None))
        figures.add_row(f"[{'red' if self.failures else 'green'}]{self.failures} errors[/]")
        bar = Table.grid()
        bar.add_row(ProgressBar(total=begun.seconds, completed=elapsed, width=72))
        troubles = [Text(text, style="red") for text in self.troubles]
        return Group(head, bar, figures, *troubles)


@dataclass
class StudyView(View):
    """Follows a study: what is done, what runs, how much is left and how long that takes."""

    tells_lines: bool = False
    progress: Progress | None = None
    spent_s: list[float] = field(default_factory=list)
    """Seconds of each run that was made."""
    turned: float = 0.0

    def tell(self, progress: Progress) -> None:
        """A run is done, or the first is about to begin."""
        before, self.progress = self.progress, progress
        now = time.monotonic()
        if before is not None and progress.last is not None and progress.reused == before.reused:
            self.spent_s.append(now - self.turned)
        self.turned = now
        if progress.last is not None and not errors.is_terminal:
            last = progress.last
            errors.print(
                f"{progress.done} done, about {progress.left} left: {last.request}: {last.verdict}", markup=False
            )

    def _render(self) -> RenderableType:
        if self.progress is None:
            return super()._render()
        done, reused, left = self.progress.done, self.progress.reused, self.progress.left
        each = sum(self.spent_s) / len(self.spent_s) if self.spent_s else self.beginning and self.beginning.seconds
        time_left = f"about {max(0.0, left * each - (time.monotonic() - self.turned)) / 60:.1f} min" if each else ""
        taken = f" ({reused} of them from before)" if reused else ""
        running = f"running: {self.progress.next}" if self.progress.next else "writing the report"
        title = Text(f"{self.progress.name}: {done} done{taken}, about {left} left, {time_left}", style="bold")
        bar = Table.grid()
        bar.add_row(ProgressBar(total=max(1, done + left), completed=done, width=72))
        return Group(title, bar, Text(running), super()._render())


def _figures(part: str, last: Interval | None) -> tuple[str, ...]:
    rate = last.answered_per_s if last else 0.0
    p99_ms = 1000 * last.response.p99_s if last else 0.0
    return (
        *([part] if part else []),
        f"{rate:7.1f} operations/s",
        f"p99 {p99_ms:7.0f} ms",
        f"active {last.sessions_active if last else 0:5d}",
        f"driver {100 * last.cpu.busiest if last else 0:3.0f} % of a core",
    )
