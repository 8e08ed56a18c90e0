"""`loadstone doctor`."""

import asyncio
import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer
from rich.markup import escape

from loadstone.cli.exits import Exit
from loadstone.cli.results import RESULTS, Results
from loadstone.cli.screen import out, say
from loadstone.host.packages import install
from loadstone.host.programs import find_driver, find_server
from loadstone.measure.doctor import Advice, DoctorFinding, examine
from loadstone.model.errors import PlatformError
from loadstone.model.machine import MachineSpec
from loadstone.model.service import EMBEDDED
from loadstone.platforms.registry import list_platform_kinds
from loadstone.platforms.vm.accelerator import find_accelerator_file, foresee_emulation, read_detected
from loadstone.platforms.vm.settings import Accelerator
from loadstone.services.registry import list_service_kinds, list_service_roles
from loadstone.testbed.software import has_file
from loadstone.tools.registry import find_tools

REASON_LETTERS = 90
"""Letters of a reason that is shown."""
INDENT = 9
"""Letters of the column of findings."""
STYLE = {DoctorFinding.GOOD: "green", DoctorFinding.WARNING: "yellow", DoctorFinding.BAD: "red"}


def diagnose(
    results: Results = RESULTS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    install_missing: Annotated[
        bool, typer.Option("--install", help="Install missing packages of services (Debian, as root).")
    ] = False,
) -> None:
    """Check what on this machine would distort a measurement, and how to fix it.

    Exit code 2 if something must be fixed before anything can run.
    """
    missing = sorted({package for _, packages in _services() for package in packages})
    if install_missing and missing:
        say(f"installing {', '.join(missing)} ...")
        install(missing)
    advice = [*examine(results), *_programs(), *_platforms(), *_software()]
    if as_json:
        typer.echo(json.dumps([asdict(line) for line in advice], indent=1))
    else:
        for line in advice:
            finding = f"[{STYLE[line.finding]}]{line.finding:{INDENT}}[/]"
            out.print(f"{finding}{escape(format_advice(line, out.width))}", soft_wrap=True)
    if any(line.finding is DoctorFinding.BAD for line in advice):
        raise typer.Exit(Exit.WRONG_INPUT)


def format_advice(advice: Advice, width: int) -> str:
    """Returns the matter with its figure, then the remedy, as lines of `width` letters beside the finding.

    A word is never broken, since a path that cannot be copied is no remedy: a longer word has a longer line.
    """
    wrap = partial(textwrap.wrap, width=max(width - INDENT, 1), break_long_words=False, break_on_hyphens=False)
    lines = [*wrap(f"{advice.matter}: {advice.figure}"), *wrap(advice.remedy)]
    return f"\n{' ' * INDENT}".join(lines)


def _programs() -> Iterator[Advice]:
    """Whether Loadstone's own programs are installed."""
    for name, find in (("driver", find_driver), ("reference server", find_server)):
        try:
            yield Advice(name, DoctorFinding.GOOD, find())
        except PlatformError as error:
            yield Advice(name, DoctorFinding.BAD, "not found", str(error))


def _platforms() -> Iterator[Advice]:
    """Which platforms can make machines here, and by what virtual machines run."""
    for name, kind in list_platform_kinds().items():
        missing = asyncio.run(kind.maker.explain_missing(MachineSpec(platform=name)))
        if missing:
            yield Advice(f"platform {name}", DoctorFinding.WARNING, "not here", missing)
        else:
            yield Advice(f"platform {name}", DoctorFinding.GOOD, "ready")
    yield _accelerator()


def _services() -> Iterator[tuple[str, list[str]]]:
    """Yields every service and tool that takes other programs, with the packages that it misses here."""
    for role in list_service_roles():
        for name, kind in list_service_kinds(role).items():
            if kind.needs or kind.mechanisms:
                title = role if name == EMBEDDED else f"{role} {name}"
                yield title, _missing(kind.needs, *kind.mechanisms.values())
    for name, tool in find_tools().items():
        yield f"tool {name}", _missing(tool.needs)


def _missing(*needs: Mapping[str, str]) -> list[str]:
    """Returns the packages of which this host lacks a file."""
    pairs = [pair for packages in needs for pair in packages.items()]
    return sorted({package for pattern, package in pairs if not has_file(pattern)})


def _software() -> Iterator[Advice]:
    """What services need of this host, where they run on it."""
    for name, packages in _services():
        remedy = f"`apt-get install {' '.join(packages)}`, or `loadstone doctor --install`."
        figure = f"misses {', '.join(packages)}" if packages else "ready"
        yield Advice(
            name, DoctorFinding.WARNING if packages else DoctorFinding.GOOD, figure, remedy if packages else ""
        )


def _accelerator() -> Advice:
    """What was found when a machine was last booted; the doctor starts nothing."""
    matter, detected = "virtual machines by hardware", read_detected()
    if detected is None and (why := foresee_emulation()):
        remedy = "Machines are emulated. Enable virtualization in the firmware and load kvm_intel or kvm_amd."
        return Advice(matter, DoctorFinding.WARNING, f"no: {why}", remedy)
    if detected is None:
        return Advice(matter, DoctorFinding.WARNING, "not known yet", "The first boot of a virtual machine detects it.")
    if detected.accelerator is Accelerator.KVM:
        return Advice(matter, DoctorFinding.GOOD, f"KVM: {detected.why}")
    remedy = f"Machines are emulated by TCG, many times slower. Remove {find_accelerator_file()} to try KVM again."
    return Advice(matter, DoctorFinding.WARNING, f"no: {detected.why[:REASON_LETTERS]}", remedy)
