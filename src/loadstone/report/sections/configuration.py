"""What the run was made with: target, phases, machines, versions, host, the workloads' declarations."""

from collections.abc import Iterator, Mapping

from loadstone.judge.check import UNDISCLOSED
from loadstone.model.numbers import format_rounded
from loadstone.model.records.manifest import FleetHostRecord, ImportedFrom, MachineFacts, Manifest
from loadstone.page.blocks import Block, Facts, Fold, Heading, Verbatim
from loadstone.report.disclosure import format_phases, list_notes, list_versions_and_host
from loadstone.report.section import ReportContext, ReportSection
from loadstone.store.folder import Seal

UNPUBLISHED = ("ramp-up, warm-up, ramp-down", "seed", "driver threads", "machines", "host")
"""Facts of a run that no published table has."""


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """Lists of facts, the long ones folded."""
    manifest = context.result.manifest
    yield Heading("Configuration", 2, "configuration")
    if manifest.imported is not None:
        yield Facts(list(_list_published(manifest, manifest.imported, context.seal)))
        yield from _fold_declarations(context)
        return
    yield Facts(
        [
            ("target", manifest.target),
            ("phases", format_phases(manifest.profile)),
            ("seed", f"{manifest.seed} (and one more with each iteration)"),
            ("driver threads", str(manifest.driver_threads)),
            *_driver_cores(manifest),
            ("seal", context.seal.state),
            *((f"host {name}", _host(host)) for name, host in manifest.hosts.items()),
            *((f"machine {name}", _machine(facts)) for name, facts in manifest.machines.items()),
            *([("data", manifest.data)] if manifest.data else []),
            *(("fault", fault) for fault in manifest.faults),
            *list_notes(manifest.notes),
            *list_versions_and_host(manifest.versions, manifest.host),
        ]
    )
    mitigations, limits = manifest.host.mitigations, manifest.host.cgroup_limits
    yield Fold("CPU mitigations", [Facts(list(mitigations.items()) or [("none reported", "")])])
    yield Fold("Control group limits", [Facts(list(limits.items()) or [("none", "")])])
    for part, facts in manifest.host.hardware.items():
        yield Fold(part[0].upper() + part[1:], [Facts(list(facts.items()))])
    yield from _fold_declarations(context)


def _fold_declarations(context: ReportContext) -> Iterator[Block]:
    for workload in context.result.workloads:
        label = workload.id.label
        text = context.result.manifest.declarations.get(label, "")
        yield Fold(f"Declaration of {label}", [Verbatim(text)])


def _list_published(manifest: Manifest, source: ImportedFrom, seal: Seal) -> Iterator[tuple[str, str]]:
    """What is known of a published result: its file, and that tables do not have the rest."""
    yield "target", manifest.target
    yield "imported file", f"{source.file}, SHA-256 {source.sha256}"
    yield "steady state", f"{format_rounded(manifest.profile.steady_s)} s"
    yield "seal", seal.state
    for name in UNPUBLISHED:
        yield name, UNDISCLOSED
    yield from list_notes(manifest.notes)
    for name, version in manifest.versions.items():
        yield f"imported with {name}", version or "unknown"


def _driver_cores(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Whether the driver had cores of its own; nothing of systems that others set up."""
    if manifest.driver_cores:
        yield (
            "driver cores",
            f"{manifest.driver_cores}, reserved: machines with assigned cores do not use them",
        )
    elif manifest.driver_cores == "" and manifest.machines and not manifest.is_simulated:
        yield "driver cores", "shared: the system under test may use them too"


def _host(host: FleetHostRecord) -> str:
    facts = [f"{' and '.join(host.roles)}, at {host.address}"]
    facts.append(f"{host.cores} cores, {host.memory_mib} MiB, Linux {host.kernel}")
    if host.undone:
        facts.append(f"cleaned up after a lost run: {', '.join(host.undone)}")
    return "; ".join(facts)


def _machine(facts: MachineFacts) -> str:
    rest = {"accelerator": facts.accelerator, "networks": facts.networks, **facts.facts}
    details = [
        f"{key.replace('_', ' ')} {_text(value)}"
        for key, value in rest.items()
        if value and not isinstance(value, list)
    ]
    return "; ".join([facts.about, *details])


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{str(key).replace('_', ' ')} {setting}" for key, setting in value.items())
    return str(value)


SECTION = ReportSection(rank=70, of_result=render_blocks)
