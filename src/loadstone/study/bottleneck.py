"""What a run was up against, as far as the monitors say: the first of what is full, or that nothing is. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadstone.model.figures import FOREIGN_CPU_PCT
from loadstone.model.records.check import CheckId
from loadstone.study.summary import RunSummary

FULL_RESOURCE_SHARE = 0.85
"""Share of a resource from which requests queue for it most of the time: an M/M/1 queue holds six there."""
WAITING = 0.3
"""Share of the host's time in which it waits for its disks, from which those are what it waits for."""
IDLE = 0.7
"""Share of its CPU below which a system does not have its throughput from its CPU."""


@dataclass(frozen=True)
class Bottleneck:
    """What is full, in words, and how much of it was used: a share, where there is one."""

    name: str
    used: float | None = None

    def __str__(self) -> str:
        return self.name if self.used is None else f"{self.name} ({100 * self.used:.0f} % used)"


DRIVER, WORKERS, SYSTEM_CPU, OTHERS = (
    "the driver",
    "the station's workers",
    "the system's CPU",
    "other load on the host",
)
HOST, MEMORY, BOTTLENECK_DISK = (
    "the host's CPU, which driver, system and back end share",
    "memory: it swaps",
    "the host's disks",
)
NO_BOTTLENECK = "nothing that is watched: a lock, a pool or a queue of the system, or its users' own pace and lines"


@dataclass(frozen=True)
class Resource:
    """Something that a run may use up."""

    name: str
    """In sentences about what was full."""
    metric: str
    capacity: str
    """Name of how much there is; empty for a metric in percent."""
    of_system: str = ""
    """In sentences about the system's reserves; empty for what is not of the system alone."""

    def compute_share(self, run: RunSummary) -> float | None:
        """Returns the used share, 0 to 1; None where use or capacity is not known."""
        held = run.capacity.get(self.capacity, 0.0) if self.capacity else PERCENT
        return run.metrics[self.metric] / held if held and self.metric in run.metrics else None


PERCENT = 100.0
RESOURCES = (
    Resource(DRIVER, "driver_cpu", ""),
    Resource(WORKERS, "busy_workers", "workers", "workers"),
    Resource(SYSTEM_CPU, "server_cpu", "server_cores", "CPU"),
    Resource(HOST, "host_cpu", "cores"),
)
"""What a run may use up, in the order in which it is blamed."""


def find_bottleneck(run: RunSummary) -> Bottleneck | None:
    """The first of what was full in a run; None where nothing was watched."""
    resource = next(_full(run), None)
    if resource is not None:
        return resource
    return Bottleneck(NO_BOTTLENECK) if "host_cpu" in run.metrics or "busy_workers" in run.metrics else None


def _full(run: RunSummary) -> Iterator[Bottleneck]:
    monitors, cores = run.monitors, run.capacity.get("cores", 0.0)
    foreign = next((check.figure for check in run.checks if check.id is CheckId.FOREIGN_CPU), 0.0)
    if foreign > FOREIGN_CPU_PCT:
        yield Bottleneck(OTHERS, foreign / 100)
    if run.is_driver_bound:
        yield Bottleneck(DRIVER)
    for resource in RESOURCES:
        share = resource.compute_share(run)
        if share is not None and share >= FULL_RESOURCE_SHARE:
            yield Bottleneck(resource.name, share)
    if monitors.get("host.swap_in_per_s", 0.0) + monitors.get("host.swap_out_per_s", 0.0) > 0:
        yield Bottleneck(MEMORY)
    if cores and monitors.get("host.wait_cores", 0.0) >= WAITING * cores:
        yield Bottleneck(BOTTLENECK_DISK, monitors["host.wait_cores"] / cores)


def describe_common(runs: Sequence[RunSummary]) -> str:
    """Describes what limited most of several runs, empty where nothing was monitored."""
    resources = [resource for run in runs if (resource := find_bottleneck(run)) is not None]
    if not resources:
        return ""
    name = Counter(resource.name for resource in resources).most_common(1)[0][0]
    return str(
        max((resource for resource in resources if resource.name == name), key=lambda resource: resource.used or 0.0)
    )


def is_idle(run: RunSummary) -> bool:
    """Whether the system had CPU to spare: its throughput then says nothing of its cores."""
    used, held = run.metrics.get("server_cpu"), run.capacity.get("server_cores")
    return used is not None and bool(held) and used < IDLE * (held or 1.0)
