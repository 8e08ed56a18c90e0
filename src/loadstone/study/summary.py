"""A run that a study asks for, and what came of it: the figures that studies reckon with. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from statistics import fmean
from typing import Any

from loadstone.judge.check import Outcome, Weight
from loadstone.judge.usage import SUPPORT, host_usage, inside_usage, measured_machines, outside_usage, tree_usage
from loadstone.judge.verdict import Verdict
from loadstone.model.figures import Blame, IterationFigures
from loadstone.store.read import Iteration, Result

Json = dict[str, Any]


class Better(StrEnum):
    """Which way a figure improves."""

    LOWER = "lower"
    HIGHER = "higher"
    NEITHER = "neither"


@dataclass(frozen=True)
class Figure:
    """What a figure is called, in what unit, and which way it improves."""

    name: str
    title: str
    unit: str
    better: Better


FIGURES = {
    one.name: one
    for one in (
        Figure("throughput", "throughput", "operations/s", Better.HIGHER),
        Figure("response_mean", "mean response time", "s", Better.LOWER),
        Figure("response_p50", "median response time", "s", Better.LOWER),
        Figure("response_p90", "90th percentile of response time", "s", Better.LOWER),
        Figure("response_p95", "95th percentile of response time", "s", Better.LOWER),
        Figure("response_p99", "99th percentile of response time", "s", Better.LOWER),
        Figure("service_p99", "99th percentile of service time", "s", Better.LOWER),
        Figure("good", "good operations", "%", Better.HIGHER),
        Figure("tolerable", "tolerable operations", "%", Better.HIGHER),
        Figure("errors", "operations in error", "%", Better.LOWER),
        Figure("bytes", "bytes received", "B/s", Better.HIGHER),
        Figure("server_cpu", "CPU of the system under test", "cores", Better.LOWER),
        Figure("server_cpu_per_operation", "CPU time an operation", "s", Better.LOWER),
        Figure("busy_workers", "busy workers of the station", "workers", Better.LOWER),
        Figure("host_cpu", "CPU of the whole machine", "cores", Better.LOWER),
        Figure("driver_cpu", "busiest driver thread", "% of a core", Better.NEITHER),
        Figure("driver_lag_p99", "99th percentile of driver lag", "s", Better.NEITHER),
    )
}
"""All figures by name, in the order they are shown."""

DRIVER_RULES = frozenset(
    {
        *("driver errors", "driver lag p99", "busiest driver thread", "sessions begun of those due"),
        "TCP memory pressure",
    }
)
"""Rules whose breach says that the driver, or its machine, was the limit."""


class Purpose(StrEnum):
    """Why a run is asked for."""

    MEASURE = "measure"
    PROBE = "probe"
    """To find out whether a load passes."""
    CONFIRM = "confirm"
    """To make sure that it did, or did not."""
    VERIFY = "verify"
    """To prove a peak; runs made for finding it do not count for that."""


@dataclass(frozen=True)
class Wanted:
    """A run that a study asks for."""

    key: str
    workload: str
    settings: Mapping[str, str]
    seed: int
    """Added to the study's own seed."""
    purpose: Purpose = Purpose.MEASURE
    side: str = ""
    """`a` or `b` in comparisons."""

    @property
    def load(self) -> float:
        """Sessions, or arrivals per second, where the settings say."""
        return float(self.settings.get("sessions") or self.settings.get("rate") or 0)

    def __str__(self) -> str:
        settings = " ".join(f"{name}={value}" for name, value in self.settings.items())
        purpose = "" if self.purpose is Purpose.MEASURE else f" ({self.purpose})"
        return f"{self.workload} {self.side} {settings}{purpose}".replace("  ", " ").strip()


@dataclass(frozen=True)
class Rule:
    """A rule's figure in a run, the worst of its iterations."""

    name: str
    figure: float
    limit: float
    bound: str
    unit: str
    weight: str
    outcome: str


@dataclass(frozen=True)
class Made:
    """A finished run of a study."""

    wanted: Wanted
    folder: str
    """Name of its result folder, beside those of the study's other runs."""
    verdict: str
    reasons: tuple[str, ...]
    is_driver_bound: bool
    figures: Mapping[str, float]
    rules: tuple[Rule, ...]
    accelerator: str = ""
    """What makes the processors of its machines: `kvm`, `tcg`, or none of their own."""
    monitors: Mapping[str, float] = field(default_factory=dict)
    """Means of what monitors saw: `host.`; of machines `inside.` and `outside.`; of services `process.`."""
    capacity: Mapping[str, float] = field(default_factory=dict)
    """How much there was of what was used: `workers` of a station, `cores` of the machine."""

    @property
    def passed(self) -> bool:
        """Whether it passed every rule."""
        return self.verdict == Verdict.PASS

    def broken(self) -> list[Rule]:
        """The rules it broke; notes are none."""
        return [rule for rule in self.rules if rule.outcome == Outcome.BROKEN and rule.weight != Weight.NOTE]

    def as_json(self) -> Json:
        """As it is kept in a study's answer."""
        return asdict(self)


def made_of(wanted: Wanted, result: Result) -> Made:
    """What came of a run of one workload, from its result as kept and judged."""
    (workload,) = result.workloads
    (verdict,) = (result.verdict or {"workloads": []})["workloads"]
    rules = _rules(one["checks"] for one in verdict["iterations"])
    each = [figures_of(iteration) for iteration in workload.iterations]
    figures = {name: fmean(one[name] for one in each) for name in FIGURES if each and all(name in one for one in each)}
    return Made(
        wanted=wanted,
        folder=result.path.name,
        verdict=verdict["verdict"],
        reasons=tuple(verdict["reasons"]),
        is_driver_bound=any(rule.outcome == Outcome.BROKEN and rule.name in DRIVER_RULES for rule in rules),
        figures=figures,
        rules=rules,
        accelerator=_accelerator(result),
        monitors=_monitors(workload.iterations),
        capacity=_capacity(result, workload.iterations),
    )


def _accelerator(result: Result) -> str:
    machines = result.manifest.get("machines", {}).values()
    return next((str(one["accelerator"]) for one in machines if one.get("accelerator")), "")


def _monitors(iterations: tuple[Iteration, ...]) -> dict[str, float]:
    """Of several machines alike the sum; of several iterations the mean."""
    each = [_seen(iteration.steady_samples) for iteration in iterations]
    names = dict.fromkeys(name for one in each for name in one)
    return {name: fmean(one[name] for one in each if name in one) for name in names}


def _seen(samples: list[Json]) -> dict[str, float]:
    seen = {f"host.{name}": value for name, value in host_usage(samples).items()}
    views = {"inside": inside_usage, "outside": outside_usage, "process": tree_usage}
    for machine in measured_machines(samples):
        for side, view in views.items():
            for name, value in view(samples, machine).items():
                seen[f"{side}.{name}"] = seen.get(f"{side}.{name}", 0.0) + value
    return seen


def figures_of(iteration: Iteration) -> dict[str, float]:
    """The figures of one iteration, those that there are."""
    figures = iteration.figures
    found: dict[str, float | None] = {
        "throughput": figures.ended / figures.steady_s if figures.steady_s else None,
        "response_mean": figures.response.mean_s,
        **{f"response_p{at:g}": figures.response.at(at) for at in (50.0, 90.0, 95.0, 99.0)},
        "service_p99": figures.service.at(99.0),
        **_shares(figures),
        "driver_cpu": 100 * max(figures.driver_cpu) if figures.driver_cpu else None,
        "driver_lag_p99": figures.lag.at(99.0),
        **_used(iteration),
    }
    if figures.steady_s:
        found["bytes"] = sum(operation.bytes for operation in figures.operations) / figures.steady_s
    cpu, throughput = found.get("server_cpu"), found["throughput"]
    if cpu and throughput:
        found["server_cpu_per_operation"] = cpu / throughput
    return {name: value for name, value in found.items() if value is not None}


def _shares(figures: IterationFigures) -> dict[str, float]:
    requests = figures.requests
    if not requests:
        return {}
    good = sum(operation.good for operation in figures.operations)
    tolerable = good + sum(operation.tolerable for operation in figures.operations)
    errors = sum(operation.errors_of(blame) for operation in figures.operations for blame in Blame)
    return {"good": 100 * good / requests, "tolerable": 100 * tolerable / requests, "errors": 100 * errors / requests}


def _used(iteration: Iteration) -> dict[str, float | None]:
    """Means over the steady state of what the monitors saw, and of what a modelled station did."""
    samples = iteration.steady_samples
    trees = [[tree for role, tree in one["trees"].items() if role not in SUPPORT and tree] for one in samples]
    stations = [used for one in samples for used in one.get("stations", {}).values() if used]
    busy = _mean(used["busy_workers"] for used in stations)
    if iteration.stations:
        lengths = sum(one["length_ns"] for one in iteration.stations)
        busy = sum(one["busy_ns"] for one in iteration.stations) / lengths
    return {
        "server_cpu": _mean(sum(tree["user_cores"] + tree["system_cores"] for tree in one) for one in trees if one),
        "host_cpu": _mean(
            sum(used for mode, used in one["cpu_cores"].items() if mode not in ("idle", "iowait")) for one in samples
        ),
        "busy_workers": busy,
    }


def _capacity(result: Result, iterations: tuple[Iteration, ...]) -> dict[str, float]:
    capacity: dict[str, float] = {}
    for iteration in iterations:
        said = [used for one in iteration.monitor for used in one.get("stations", {}).values() if used]
        for used in [*said, *iteration.stations]:
            capacity["workers"] = float(used["workers"])
    system = result.manifest.get("system", {})
    cores = float(result.manifest["host"].get("cores") or 1)
    machine = result.manifest.get("placement", {}).get("machine", {})
    if system.get("kind") == "reference":
        held = float(machine.get("cpus") or cores) * float(machine.get("count") or 1)
        capacity["server_cores"] = min(cores, held, float(system["threads"]) * float(machine.get("count") or 1))
    capacity["cores"] = cores
    return capacity


def _rules(iterations: Iterable[list[Json]]) -> tuple[Rule, ...]:
    """Each rule once: where iterations differ, the broken one, else the first."""
    kept: dict[str, Json] = {}
    for check in (check for checks in iterations for check in checks):
        held = kept.get(check["rule"])
        if held is None or (check["outcome"] == Outcome.BROKEN and held["outcome"] != Outcome.BROKEN):
            kept[check["rule"]] = check
    keys = ("figure", "limit", "bound", "unit", "weight", "outcome")
    return tuple(Rule(name, **{key: check[key] for key in keys}) for name, check in kept.items())


def _mean(values: Iterable[float]) -> float | None:
    held = list(values)
    return fmean(held) if held else None
