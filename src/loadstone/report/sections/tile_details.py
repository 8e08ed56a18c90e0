"""Tiles: each by itself, its loads and its machines, and the rules of the run as a whole."""

from collections.abc import Iterator, Mapping, Sequence

from loadstone.judge.usage import compute_host_usage, compute_tree_usage
from loadstone.model.figures import Blame, Criteria, Distribution, OperationFigures
from loadstone.model.numbers import MIB_PER_BYTE, format_number, format_seconds
from loadstone.model.records.manifest import Manifest, TileEntry
from loadstone.model.records.result import Result
from loadstone.model.records.sample import Sample
from loadstone.model.records.verdict import TilesVerdict
from loadstone.model.records.workload_id import TileLoadKind
from loadstone.model.role import MachineRole
from loadstone.model.tile import Role
from loadstone.page.blocks import Block, Column, ColumnKind, Heading, Paragraph, Row, Table, Tone
from loadstone.report.rules_table import build_rules_table
from loadstone.report.section import ReportContext, ReportSection

TILE_OPERATIONS_SHOWN = {
    TileLoadKind.WEB: ("download",),
    TileLoadKind.DEALERS: ("purchase", "manage", "browse"),
    TileLoadKind.LINES: (),
    TileLoadKind.MAIL: ("append", "fetch"),
    TileLoadKind.IDLE: (),
}
"""Operations that have a row of their own, beside the row of all, as published disclosures have them."""
TILE_TITLES: tuple[str, ...] = (
    *("/s", "total", "good", "tolerable", "fail", "good, %", "validation\nerrors", "other\nerrors"),
    *("average,\ns", "p50", "p90", "required\nwithin, s", "p99", "p99.9", "max"),
)
REFERENCE_SERVER = "reference server"
REQUIRED_NOTE = "Required: the time within which the share in brackets of the operations must be answered. "
NOTE = "Cores and memory are those of a machine's processes on the host, in the mean over the measured window."


def render_blocks(context: ReportContext) -> Iterator[Block]:
    """A block for each tile, then the common rules."""
    score = context.result.verdict.consolidation if context.result.verdict else None
    if score is None:
        return
    if context.result.manifest.imported is not None:
        yield from _common(score)
        return
    yield Heading("Tile by tile", 2, "tiles")
    for entry in context.result.manifest.tiles:
        yield from _tile(context.result, entry)
    yield Paragraph(f"{NOTE}{_host(context.result)}", Tone.QUIET)
    yield from _common(score)


def _tile(result: Result, entry: TileEntry) -> Iterator[Block]:
    yield Heading(f"Tile {entry.number} at {format_number(entry.pct_load)} %")
    rows = [row for kind in TILE_OPERATIONS_SHOWN for row in _load_rows(result, entry.number, kind)]
    yield Table([Column("load"), *map(Column, TILE_TITLES)], rows)
    yield Paragraph(REQUIRED_NOTE, Tone.QUIET)
    text = [Column(title, ColumnKind.TEXT) for title in ("what it is", "software", "settings", "networks")]
    columns = [Column("machine"), *text, Column("CPU, cores"), Column("memory, MiB")]
    samples = _samples(result, entry.number)
    machines = [_machine(result.manifest, str(MachineRole(role, tile=entry.number)), samples) for role in Role]
    yield Table(columns, machines)


def _load_rows(result: Result, number_: int, kind: TileLoadKind) -> Iterator[Row]:
    workload = result.find_tile_load(number_, kind)
    figures = workload.iterations[0].figures if workload else None
    if workload is None or figures is None or not figures.operations:
        return
    yield _load_row(f"{kind}: all", figures.operations, figures.response, figures.steady_s, "")
    for operation in figures.operations:
        if operation.name in TILE_OPERATIONS_SHOWN[kind]:
            required = _required(workload.criteria, operation.name)
            yield _load_row(f"{kind}: {operation.name}", [operation], operation.response, figures.steady_s, required)


def _required(criteria: Criteria, operation: str) -> str:
    """Returns the time that an operation must keep and the share that must keep it; empty where none is required."""
    limit_s, share = criteria.limits_s.get(operation), criteria.each_share_pct
    return "" if limit_s is None or share is None else f"{format_seconds(limit_s)} ({format_number(share)} %)"


def _load_row(
    name: str, members: Sequence[OperationFigures], times: Distribution, steady_s: float, required: str
) -> Row:
    total = sum(member.requests for member in members)
    good = sum(member.good for member in members)
    wrong = sum(member.count_errors(Blame.VALIDATION) for member in members)
    counts = [
        total,
        good,
        sum(member.tolerable for member in members),
        sum(member.fail + member.overdue for member in members),
    ]
    errors = [wrong, sum(member.error_count for member in members) - wrong]
    per_s = sum(member.answered for member in members) / steady_s if steady_s else 0.0
    good_pct = format_number(100 * good / total if total else None, 2)
    low = [format_seconds(times.get_value_at(percent)) for percent in (50.0, 90.0)]
    high = [format_seconds(times.get_value_at(percent)) for percent in (99.0, 99.9, 100.0)]
    texts = [format_number(per_s, 2), *map(format_number, counts), good_pct, *map(format_number, errors)]
    return Row([name, *texts, format_seconds(times.mean_s), *low, required, *high])


def _samples(result: Result, number_: int) -> Sequence[Sample]:
    samples = (
        workload.iterations[0].steady_samples
        for workload in result.workloads
        if workload.id.tile == number_ and workload.iterations
    )
    return next(samples, [])


def _machine(manifest: Manifest, name: str, samples: Sequence[Sample]) -> Row:
    """A role's machine: what it is, and what it used in the mean over the measured window."""
    facts, used = manifest.machines.get(name), compute_tree_usage(samples, name)
    networks = ", ".join(f"{network} {address}" for network, address in facts.networks.items()) if facts else ""
    about = facts.about if facts else "never up"
    others = facts.facts if facts else {}
    software = str(others.get("software") or REFERENCE_SERVER)
    settings = write_settings(others.get("settings"))
    network_text = networks or "the host's own network"
    memory = used.get("resident_bytes")
    mib = None if memory is None else memory * MIB_PER_BYTE
    return Row([name, about, software, settings, network_text, format_number(used.get("cores"), 3), format_number(mib)])


def write_settings(settings: object) -> str:
    """Returns the settings of a machine's services, by service; empty for those that have none."""
    by_service = settings if isinstance(settings, Mapping) else {}
    return "; ".join(f"{name.removeprefix('of ')}: {text}" for name, text in by_service.items())


def _host(result: Result) -> str:
    samples = next((workload.iterations[0].steady_samples for workload in result.workloads if workload.iterations), [])
    usage = compute_host_usage(samples)
    if not usage:
        return ""
    busy = sum(usage.get(f"{mode}_cores", 0.0) for mode in ("user", "system"))
    return f" The host was busy with {format_number(busy, 2)} cores, drivers included."


def _common(score: TilesVerdict) -> Iterator[Block]:
    yield Heading("Rules of the run as a whole", 2, "common")
    yield build_rules_table(score.checks)


SECTION = ReportSection(rank=50, of_result=render_blocks)
