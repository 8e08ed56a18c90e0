"""`loadstone run`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.exits import Exit
from loadstone.cli.options import WorkloadOptions
from loadstone.cli.outlook import tell_run
from loadstone.cli.overrides import describe_source
from loadstone.cli.run_options import SingleRunOptions, carry_out
from loadstone.cli.screen import errors, say, warn
from loadstone.cli.section_options import SectionOptions, declare_options, place_option
from loadstone.cli.specs import find_study_file, with_companions
from loadstone.host.cache import compute_digest, fill_cached
from loadstone.host.secrets import JOIN_TOKEN, is_join_token_given, join_token
from loadstone.model.errors import UsageError
from loadstone.model.load import NO_LOAD
from loadstone.model.system import Clock, Reference
from loadstone.run.executor import Listener
from loadstone.run.spec import Joining, RunSpec
from loadstone.study.declaration import Declaration
from loadstone.study.resolve import add_usual_loads, resolve
from loadstone.study.sections import StudyHeader
from loadstone.workloads.catalogue import FILE, is_shipped_folder
from loadstone.workloads.look import GOOD_S, TOLERABLE_S, is_address, look_at

HELP = """Run one or more workloads, judge them, and write a report.

[bold]loadstone run banking --sessions 200[/] runs the bank against the reference server;
[bold]loadstone run http://127.0.0.1:8080/page --sessions 10 --seconds 20[/] measures one page for 20 s;
[bold]loadstone run ./my-site --target http://127.0.0.1:8080 --sessions 50[/] runs a custom workload;
[bold]loadstone run static --rate 200[/] starts 200 sessions per second, however fast they are served.
"""
BRIEF_PROFILE = "brief"
"""The profile of a look whose seconds are given: whoever asks for three does not wait ten for a ramp-up."""
DRIVERS = "Several drivers"


@dataclass(frozen=True, kw_only=True)
class RunCommand(WorkloadOptions, SingleRunOptions):
    """The options of a run, and the run."""

    header: SectionOptions = declare_options(StudyHeader)
    drivers: Annotated[
        int,
        typer.Option(min=1, max=1000, help="Number of drivers in the run, this one included.", rich_help_panel=DRIVERS),
    ] = place_option(1)
    join_at: Annotated[
        str,
        typer.Option(
            help="Listen address (HOST:PORT) for the other drivers. They join with `loadstone-driver "
            "join HOST:PORT` and the token shown, or the one in LOADSTONE_JOIN_TOKEN.",
            rich_help_panel=DRIVERS,
        ),
    ] = place_option("127.0.0.1:7700")

    def execute(self) -> Exit:
        """Runs, judges, reports; returns what the shell is told. Raises LoadstoneError."""
        if not self.names:
            raise UsageError("Name a workload or a study file. `loadstone workloads` lists the built-in workloads.")
        if any(map(is_address, self.names)):
            return self._of_addresses(self.names).execute()
        file = find_study_file(self.names)
        spec = self._spec(self.names) if file is None else self._spec_of_file(file)
        _warn_of_the_reference(spec)
        if self.drivers > 1 and spec.fleet is not None:
            why = "hosts of role `driver` generate the load"
            raise UsageError(f"--drivers cannot be combined with --fleet: {why}. Remove one of them.")
        if self.drivers > 1:
            spec = replace(spec, joining=Joining(self.drivers - 1, self.join_at))
            if not is_join_token_given():
                command = f"{JOIN_TOKEN}={join_token()} loadstone-driver join {self.join_at}"
                errors.print(f"Others join with: {command}", soft_wrap=True)
        with self.serve_figures() as listeners:
            return _carry_out(spec, listeners, self.report)

    def _of_addresses(self, names: list[str]) -> "RunCommand":
        """The same of the workload whose users open these pages. Raises UsageError."""
        others = [name for name in names if not is_address(name)]
        if others or self.target.values.get("urls"):
            workload = others[0] if others else "--target"
            remedy = "Remove it, or name a workload with --target"
            raise UsageError(f"`{workload}` cannot be combined with an address, which is the target itself. {remedy}.")
        page = look_at(names)
        text = page.text.encode()
        folder = fill_cached("look", compute_digest(text), lambda into: _written(into, text))
        say(f"{folder / FILE}: 95 % of the answers within {GOOD_S:g} s, 99 % within {TOLERABLE_S:g} s, or it fails.")
        is_brief = self.profile.values.get("steady_s") and not describe_source(self.context, "profile")
        return replace(
            self,
            names=[str(folder)],
            target=self.target.with_values(urls=[page.target]),
            name=self.name or page.name,
            profile=self.profile.with_values(name=BRIEF_PROFILE) if is_brief else self.profile,
        )

    def _spec(self, names: Sequence[str]) -> RunSpec:
        declared = add_usual_loads(self.declare(names))
        if not declared.is_loaded:
            raise UsageError(NO_LOAD)
        spec = self._resolve(declared)
        parts = with_companions(spec.parts)
        return replace(spec, parts=parts, together=spec.together or len(parts) > len(spec.parts))

    def _spec_of_file(self, file: Path) -> RunSpec:
        declared = add_usual_loads(self.read_file(file))
        if not declared.is_loaded:
            raise UsageError(
                f"{file} defines no load of its own. Run one of its studies: {', '.join(declared.questions)}."
            )
        return self._resolve(declared)

    def _resolve(self, declared: Declaration) -> RunSpec:
        spec = resolve(declared, self.results, self.read_hosts(), self.tags)
        return replace(spec, name=self.name or spec.name, fault=self.planned_fault)


def _written(into: Path, text: bytes) -> None:
    (into / FILE).write_bytes(text)


def _warn_of_the_reference(spec: RunSpec) -> None:
    """Whoever has a workload of their own usually has a site of their own."""
    custom = [part.workload.name for part in spec.parts if not is_shipped_folder(part.workload.folder)]
    if custom and isinstance(spec.system, Reference) and spec.clock is Clock.REAL:
        remedy = "Use --target http://HOST:PORT for your own site."
        warn(f"{', '.join(custom)} runs against the reference server. {remedy}")


def _carry_out(spec: RunSpec, listeners: Sequence[Listener], has_report: bool) -> Exit:
    tell_run(spec)
    return carry_out(spec, has_report, listeners)[1]
