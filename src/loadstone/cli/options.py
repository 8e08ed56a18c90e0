"""Options that several commands have, each declared once: a command is a dataclass made of such groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.command import Command
from loadstone.cli.overrides import list_overrides
from loadstone.cli.results import RESULT, RESULTS, Results
from loadstone.cli.section_options import SectionOptions, declare_options, list_options, place_option
from loadstone.fleet.inventory import read_fleet
from loadstone.model.choices import CHOICES
from loadstone.model.errors import UsageError
from loadstone.model.fleet import FleetSpec
from loadstone.model.machine import PROCESS, Placement
from loadstone.model.reading import read_settings
from loadstone.model.topology import list_roles_chosen_by
from loadstone.platforms.registry import list_platform_kinds, read_machine, refuse_foreign
from loadstone.platforms.roles import split_role_settings
from loadstone.services.registry import list_names
from loadstone.study.declaration import Declaration
from loadstone.study.file import read_study
from loadstone.study.registry import list_file_sections
from loadstone.study.sections import (
    DriverSection,
    LoadEntry,
    OtherSystems,
    ProfileSection,
    ProgramSettings,
    ServerSection,
    StudyHeader,
    TargetSection,
)

MACHINE = "Placement"
"""Group in which help shows options that are in no table of study files."""
COLD = "cold"
"""Setting of machines that boot although they could be restored."""


@dataclass(frozen=True, kw_only=True)
class ResultOptions:
    """Where results go, and under what name."""

    name: Annotated[str | None, typer.Option(help="Name of the result folder.", rich_help_panel=RESULT)] = place_option(
        None
    )
    results: Results = place_option(RESULTS)
    report: Annotated[
        bool,
        typer.Option(
            "--report/--no-report",
            help="Write report.html into the result folder. `loadstone report` can write it later.",
            rich_help_panel=RESULT,
        ),
    ] = place_option(True)
    tag: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=TEXT",
            help="Label stored with the result and searchable in the list. Repeatable.",
            rich_help_panel=RESULT,
        ),
    ] = place_option(None)

    @property
    def tags(self) -> dict[str, str]:
        """What is noted; raises UsageError for what has no name."""
        parts = [tag.partition("=") for tag in self.tag or ()]
        wrong = [name + mark for name, mark, text in parts if not (name.strip() and mark and text.strip())]
        if wrong:
            raise UsageError(f"`{wrong[0]}` is not NAME=TEXT. Example: --tag release=1.4.")
        return {name.strip(): text.strip() for name, _, text in parts}


@dataclass(frozen=True, kw_only=True)
class FitnessOptions:
    """What makes a run fit to be judged."""

    driver: SectionOptions = declare_options(DriverSection, only=("foreign_cpu_pct",))


@dataclass(frozen=True, kw_only=True)
class MachineOptions:
    """What the system under test runs on."""

    platform: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Platform of the system under test: {', '.join(list_platform_kinds())}. Default: process.",
            rich_help_panel=MACHINE,
        ),
    ] = place_option(None, "machine", "platform")
    machine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SETTINGS",
            help="Settings of the machine, such as cpus=2,memory=1024,count=2,cache=none. For one role: "
            "db.disk=4096; for one copy: 2.web.pin=4-7. Repeatable.",
            rich_help_panel=MACHINE,
        ),
    ] = place_option(None, "machine", is_table=True)
    cold: Annotated[
        bool,
        typer.Option(
            "--cold",
            help="Boot virtual machines. Default: restore the saved state of a machine of the same kind.",
            rich_help_panel=MACHINE,
        ),
    ] = place_option(False, "machine", COLD)
    fleet: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            envvar="LOADSTONE_FLEET",
            help="Fleet file (TOML): hosts for drivers and machines (docs/how-to/fleet.md). Default: this host alone.",
            rich_help_panel=MACHINE,
        ),
    ] = place_option(None)

    def read_hosts(self) -> FleetSpec | None:
        """The fleet of the run; None without one. Raises StudyError."""
        return None if self.fleet is None else read_fleet(self.fleet)


CHOSEN_NAMES = {name: list_names(name) for name in CHOICES if list_roles_chosen_by(name)}
"""Services that may be chosen, by field."""


@dataclass(frozen=True, kw_only=True)
class SystemOptions(MachineOptions):
    """What is measured, and on what machines."""

    target: SectionOptions = declare_options(TargetSection)
    stock: SectionOptions = declare_options(OtherSystems)
    server: SectionOptions = declare_options(ServerSection, names=CHOSEN_NAMES)
    programs: SectionOptions = declare_options(ProgramSettings)
    backend: Annotated[
        str | None,
        typer.Option(
            metavar="SETTINGS",
            help="Settings of the machine of the back-end simulator, such as platform=vm,memory=256.",
            rich_help_panel=MACHINE,
        ),
    ] = place_option(None, "backend", is_table=True)


@dataclass(frozen=True, kw_only=True)
class WorkloadOptions(SystemOptions, ResultOptions, Command):
    """All that runs of workloads have in common, single ones and those of studies."""

    context: typer.Context
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORKLOAD...", help="Workloads (name or folder), or one study file (.toml)."),
    ] = place_option(None)
    header: SectionOptions = declare_options(StudyHeader, only=("virtual",))
    load: SectionOptions = declare_options(LoadEntry)
    profile: SectionOptions = declare_options(ProfileSection)
    driver: SectionOptions = declare_options(DriverSection)

    def read_file(self, file: Path) -> Declaration:
        """Reads what a study file declares, with the options in place of its values.

        Raises StudyError, and UsageError for an option that does not go with a file.
        """
        return read_study(file, list_file_sections(), list_overrides(self.context, list_options(self)))

    def declare(self, names: Sequence[str], is_varied: bool = False) -> Declaration:
        """Returns what the options declare of workloads of these names. Raises UsageError.

        Where the platform `is_varied`, some settings of machines fit one of them alone.
        """
        header, stock = self.header.read(StudyHeader), self.stock.read(OtherSystems)
        placement = make_placement(self.platform, self.machine or (), self.backend, is_varied, self.cold)
        return Declaration(
            name="-".join(Path(name).name for name in names),
            loads=tuple(self.load.read(LoadEntry, workload=name) for name in names),
            profile=self.profile.read(ProfileSection),
            target=self.target.read(TargetSection),
            driver=self.driver.read(DriverSection),
            server=self.server.read(ServerSection),
            station=stock.station,
            nginx=stock.nginx,
            settings=self.programs.read(ProgramSettings).set,
            together=header.together,
            is_virtual=header.virtual,
            machine=placement.machine,
            backend=placement.backend,
            roles=placement.roles,
        )


def make_placement(
    platform: str | None, machine: Sequence[str], backend: str | None, varied: bool = False, cold: bool = False
) -> Placement:
    """Returns where services run. Where the platform is `varied`, some settings apply to one platform alone. Raises
    UsageError.
    """
    declared, roles = split_role_settings(read_settings(",".join(machine)))
    behind: dict[str, object] = dict(read_settings(backend or ""))
    if platform is not None:
        declared["platform"] = platform
    if cold:
        _make_cold(declared, behind, varied)
    placement = Placement(read_machine(declared), read_machine(behind), roles)
    if not varied:
        refuse_foreign(placement.machine, declared)
    refuse_foreign(placement.backend, behind)
    return placement


def _make_cold(declared: dict[str, object], behind: dict[str, object], varied: bool) -> None:
    """Declares those machines `cold` that could be restored. Raises UsageError when there is none of them."""
    cold_platforms = [name for name, kind in list_platform_kinds().items() if COLD in kind.settings]
    machines = [settings for settings in (declared, behind) if settings.get("platform", PROCESS) in cold_platforms]
    if varied:
        machines.append(declared)
    if not machines:
        raise UsageError(f"--cold applies to machines that are booted. Add --platform {' or '.join(cold_platforms)}.")
    for machine in machines:
        machine[COLD] = "true"
