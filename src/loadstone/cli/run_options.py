"""Options that single runs of workloads and of tiles have in common, and how one is carried out."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.conclude import conclude
from loadstone.cli.exits import Exit
from loadstone.cli.live import View
from loadstone.cli.screen import errors
from loadstone.cli.section_options import place_option
from loadstone.model.fault import FaultKind, PlannedFault, read_fault
from loadstone.model.records.events import Event
from loadstone.run.executor import Listener
from loadstone.run.runner import run
from loadstone.run.spec import RunSpec
from loadstone.study.sections import RUN
from loadstone.telemetry.tally import Tally

TELEMETRY = "Live figures for other tools"


@dataclass(frozen=True, kw_only=True)
class SingleRunOptions:
    """Options of a command that makes one run."""

    fault: Annotated[
        str | None,
        typer.Option(
            metavar="FAULT",
            help="Fault to inject, such as kill-primary@10: 10 s after the steady state begins. For one machine: "
            f"db:kill-primary@10 or 2.web:kill-primary@10. Kinds: {', '.join(FaultKind)}. Default: none.",
            rich_help_panel=RUN,
        ),
    ] = place_option(None)
    prometheus: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Listen address for Prometheus scrapes of the live figures. Default: none.",
            rich_help_panel=TELEMETRY,
        ),
    ] = place_option(None)
    otlp: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="OpenTelemetry collector (HTTP) that receives the live figures. Default: none.",
            rich_help_panel=TELEMETRY,
        ),
    ] = place_option(None)

    @property
    def planned_fault(self) -> PlannedFault | None:
        """The fault; None without one. Raises UsageError."""
        return None if self.fault is None else read_fault(self.fault)

    @contextmanager
    def serve_figures(self) -> Iterator[list[Listener]]:
        """Serves and pushes the live figures until the block ends; yields who must hear of events."""
        tally = Tally()
        with ExitStack() as stack:
            if self.prometheus is not None:
                from loadstone.telemetry.prometheus import serve_prometheus

                stack.enter_context(serve_prometheus(self.prometheus, tally))
            if self.otlp is not None:
                from loadstone.telemetry.otlp import push_otlp

                stack.enter_context(push_otlp(self.otlp, tally))
            yield [tally.on_event] if self.prometheus or self.otlp else []


def carry_out(spec: RunSpec, has_report: bool, listeners: Sequence[Listener] = ()) -> tuple[Path, Exit]:
    """Runs, judges and reports; returns the result's folder and what the shell is told. Raises LoadstoneError."""
    with View() as view:

        def hear(event: Event) -> None:
            for listener in (view.on_event, *listeners):
                listener(event)

        path = asyncio.run(run(spec, hear, view.begin))
        if errors.is_terminal and has_report:
            view.phase = "writing the report"
    return path, conclude(path, has_report)
