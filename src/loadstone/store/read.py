"""Reading a result folder, whole or broken off, into records."""

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from loadstone.model.errors import StoreError
from loadstone.model.figures import NOTHING, Audit, IterationFigures, OperationFigures, Terms
from loadstone.store import SCHEMA
from loadstone.store.folder import MANIFEST, RUNS, VERDICT, Status, with_true_status
from loadstone.store.histograms import distribution, merged
from loadstone.store.published import FIGURES, from_document

Json = dict[str, Any]

AUDIT = "audit.json"
"""Of an iteration: what the server said that it holds."""
HASHES = 1 << 64
"""Sums of hashes begin anew here."""
NO_CYCLES = {"count": 0, "drawn_ns": 0, "actual_ns": 0}
"""What records of older drivers lack."""


@dataclass(frozen=True)
class Iteration:
    """One iteration as kept: its figures and its second-by-second records."""

    number: int
    plan: Json
    figures: IterationFigures
    start: Json
    intervals: tuple[Json, ...]
    monitor: tuple[Json, ...]
    stations: tuple[Json, ...] = ()
    """What the modelled station of a rehearsal did in the steady state."""
    ledger: tuple[Json, ...] = ()
    """How operations of several possible endings ended, over the whole run."""

    @property
    def steady_samples(self) -> list[Json]:
        """The monitors' samples that lie in the steady state; those that reach into it where none lies inside."""
        if "start_unix_ns" not in self.start:
            return []
        phases = self.plan["phases"]
        begin_s = (self.start["start_unix_ns"] + phases["ramp_up_ns"] + phases["warm_up_ns"]) / 1e9
        end_s = begin_s + phases["steady_ns"] / 1e9
        touching = [one for one in self.monitor if begin_s <= one["unix_s"] <= end_s]
        return [one for one in touching if begin_s <= one["unix_s"] - one["seconds"]] or touching


@dataclass(frozen=True)
class WorkloadResult:
    """All iterations of one workload."""

    terms: Terms
    iterations: tuple[Iteration, ...]


@dataclass(frozen=True)
class Result:
    """A result folder, read."""

    path: Path
    manifest: Json
    workloads: tuple[WorkloadResult, ...]
    verdict: Json | None

    @property
    def status(self) -> Status:
        """How far it got."""
        return Status(self.manifest["status"])


def read_manifest(path: Path) -> Json:
    """The manifest of a result folder; raises StoreError when it is none."""
    try:
        manifest: Json = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} is no result folder: {error}. `loadstone results` lists those there are.") from None
    if manifest.get("schema") != SCHEMA:
        raise StoreError(f"{path} has schema {manifest.get('schema')}; this version reads {SCHEMA}.")
    return with_true_status(path, manifest)


def read_verdict(path: Path) -> Json | None:
    """The kept verdict, if there is one."""
    try:
        verdict: Json = json.loads((path / VERDICT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return verdict


def read_result(path: Path) -> Result:
    """Reads a result folder."""
    manifest = read_manifest(path)
    workloads = tuple(_workload(path, terms) for terms in manifest["terms"])
    return Result(path, manifest, workloads, read_verdict(path))


def catalogue(results: Path) -> Iterator[tuple[Path, Json]]:
    """All readable result folders below `results`, newest first, with their manifests."""
    if not results.is_dir():
        return
    for path in sorted(results.iterdir(), reverse=True):
        with contextlib.suppress(StoreError):  # a folder that is not ours, or of another schema
            yield path, read_manifest(path)


def _workload(path: Path, terms: Json) -> WorkloadResult:
    known = {field.name for field in fields(Terms)}
    record = Terms(**{key: value for key, value in terms.items() if key in known})
    name = re.compile(re.escape(record.workload) + r"-(\d+)")
    numbered = [(match, folder) for folder in (path / RUNS).iterdir() if (match := name.fullmatch(folder.name))]
    folders = [folder for _, folder in sorted(numbered, key=lambda pair: int(pair[0].group(1)))]
    return WorkloadResult(record, tuple(read_iteration(folder) for folder in folders))


def read_iteration(folder: Path) -> Iteration:
    """Reads the folder of one iteration, `<workload>-<number>`."""
    number = int(folder.name.rpartition("-")[2])
    if (folder / FIGURES).is_file():
        document = json.loads((folder / FIGURES).read_text(encoding="utf-8"))
        return Iteration(number, {}, from_document(document), {}, (), ())
    events = list(_lines(folder / "events.jsonl"))
    plan: Json = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    start = next((event for event in events if event["event"] == "start"), {})
    intervals = tuple(event for event in events if event["event"] == "interval")
    figures = figures_of(events)
    monitor = tuple(_lines(folder / "monitor.jsonl"))
    stations = tuple(event for event in events if event["event"] == "station" and _is_steady(event, plan["phases"]))
    ledger = tuple(event for event in events if event["event"] == "ledger")
    iteration = Iteration(number, plan, figures, start, intervals, monitor, stations, ledger)
    audit = _audit(folder / AUDIT, ledger)
    return replace(iteration, figures=replace(figures, tcp_pressure_s=_tcp_pressure_s(iteration), audit=audit))


def _audit(file: Path, ledger: tuple[Json, ...]) -> Audit | None:
    """What the drivers' ledgers say against what the server said; of endings that leave something there."""
    if not file.is_file():
        return None
    said: Json = json.loads(file.read_text(encoding="utf-8"))
    kept = [ending for line in ledger for ending in line["endings"] if int(ending["sum"], 16)]
    return Audit(
        what=said["what"],
        acknowledged=sum(ending["count"] for ending in kept),
        acknowledged_sum=sum(int(ending["sum"], 16) for ending in kept) % HASHES,
        in_doubt=sum(line["in_doubt"] for line in ledger),
        held=said["count"],
        held_sum=int(said["sum"], 16),
        broken_rules=tuple(said["broken_rules"]),
    )


def _tcp_pressure_s(iteration: Iteration) -> float | None:
    said = [one.get("tcp_pressure_s") for one in iteration.steady_samples]
    known = [seconds for seconds in said if seconds is not None]
    return sum(known) if known else None


def _is_steady(event: Json, phases: Json) -> bool:
    begin_ns = phases["ramp_up_ns"] + phases["warm_up_ns"]
    return bool(begin_ns < event["at_ns"] <= begin_ns + phases["steady_ns"])


def _lines(path: Path) -> Iterator[Json]:
    """The JSON lines of a file; a last line that was cut off is left out."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8") as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:
                return


def figures_of(events: list[Json]) -> IterationFigures:
    """The figures of one iteration from the driver's events, whole or broken off."""
    intervals = tuple(event for event in events if event["event"] == "interval")
    totals = next((event for event in events if event["event"] == "totals"), None)
    end = next((event for event in events if event["event"] == "end"), None)
    samples = tuple(
        f"{event['operation']}: {event['kind']}: {event['detail']}" for event in events if event["event"] == "trouble"
    )
    if totals is None:
        return _broken_off(intervals, samples)
    operations = tuple(_operation(record) for record in totals["operations"])
    return IterationFigures(
        steady_s=totals["steady_ns"] / 1e9,
        operations=operations,
        response=merged([record["response"] for record in totals["operations"]]),
        service=merged([record["service"] for record in totals["operations"]]),
        lag=distribution(totals["lag"]),
        driver_cpu=tuple(totals["cpu"]["threads"]),
        pauses=totals["pauses"]["count"],
        pause_drawn_s=totals["pauses"]["drawn_ns"] / 1e9,
        pause_actual_s=totals["pauses"]["actual_ns"] / 1e9,
        sessions=totals["sessions"],
        wires=totals["wires"],
        completed=end is not None and end["reason"] == "completed",
        trouble="" if end is not None else "the driver's record has no end",
        samples=samples,
    )


def _broken_off(intervals: tuple[Json, ...], samples: tuple[str, ...]) -> IterationFigures:
    """What can be said of a run whose driver died: its seconds are kept, its totals are not."""
    steady = [interval for interval in intervals if interval["phase"] == "steady"]
    return IterationFigures(
        steady_s=sum(interval["length_ns"] for interval in steady) / 1e9,
        operations=(),
        response=merged([interval["response"] for interval in steady]),
        service=merged([interval["service"] for interval in steady]),
        lag=merged([interval["lag"] for interval in steady]),
        completed=False,
        trouble="the driver died; only its second-by-second records are left",
        samples=samples,
    )


def _operation(record: Json) -> OperationFigures:
    counts = record["counts"]
    return OperationFigures(
        name=record["name"],
        requests=counts["requests"],
        good=counts["good"],
        tolerable=counts["tolerable"],
        fail=counts["fail"],
        bytes=counts["bytes"],
        errors=counts["errors"],
        cut_at_start=record["cut_at_start"],
        cut_at_end=record["cut_at_end"],
        cycles=record.get("cycles", NO_CYCLES)["count"],
        cycle_drawn_s=record.get("cycles", NO_CYCLES)["drawn_ns"] / 1e9,
        cycle_actual_s=record.get("cycles", NO_CYCLES)["actual_ns"] / 1e9,
        ended_s=record["ended_ns"] / 1e9,
        overdue=record["overdue"],
        embedded=record["embedded"],
        conditional=record["conditional"],
        not_modified=record["not_modified"],
        redirects=record["redirects"],
        line_mean_s=record["line_mean_ns"] / 1e9,
        response=distribution(record["response"]) if record["response"]["count"] else NOTHING,
        service=distribution(record["service"]) if record["service"]["count"] else NOTHING,
        first_byte=distribution(record["first_byte"]) if record["first_byte"]["count"] else NOTHING,
    )
