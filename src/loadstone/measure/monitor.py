"""Second-by-second samples of the host and of process trees while a run goes on."""

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import psutil

from loadstone.measure.groups import CpuGroup, group_of
from loadstone.measure.machine import Gauge, GaugeReading, compute_views, read_gauge
from loadstone.measure.masked import read_shown
from loadstone.measure.rates import (
    Counters,
    compute_cpu_cores,
    compute_disk_rates,
    compute_network_rates,
    compute_rates,
)
from loadstone.measure.station import Meter, WorkerTime, compute_station_usage
from loadstone.measure.status import ServiceStatus, StatusReader, compute_status_figures
from loadstone.measure.trees import find_processes, list_members, read_cpu_s, sum_cpu_seconds
from loadstone.model.records.sample import Sample, TreeUse

T = TypeVar("T")

NETSTAT = Path("/proc/net/netstat")
SAMPLED_MEMORY = ("used", "available", "active", "inactive", "cached")
"""What is kept of memory, by the kernel's names: of a machine's inside the same."""
MONITOR_INTERVAL_S = 1.0
"""Time between two samples."""
ASKED_S = 0.8
"""Longest wait for what others say, so that samples keep their second."""


@dataclass(frozen=True)
class TreeCounters:
    """A process and all below it: CPU seconds, bytes of memory, and whether a control group counts them."""

    user: float
    system: float
    rss: int
    threads: int
    processes: int
    is_whole: bool


@dataclass(frozen=True)
class HostCounters:
    """What this host counts at an instant: everything that only grows, and what simply is."""

    unix_s: float
    monotonic_s: float
    cpu: Counters
    memory: Counters
    swap: Counters
    disk: Counters
    network: Counters
    tcp_pressure_ms: int | None
    trees: Mapping[str, TreeCounters | None]
    """By role; None for a process that is gone."""
    ours_s: float
    """CPU seconds of all that belongs to the run."""


@dataclass(frozen=True)
class Reading:
    """What a monitor reads at an instant."""

    host: HostCounters
    stations: Mapping[str, WorkerTime | None] = field(default_factory=dict)
    machines: Mapping[str, GaugeReading] = field(default_factory=dict)
    status: Mapping[str, tuple[float, ServiceStatus] | None] = field(default_factory=dict)


@dataclass
class Monitor:
    """Samples the host and the process trees of `roles` (process ids by role, looked up anew each time)."""

    roles: Callable[[], Mapping[str, int]]
    write: Callable[[Sample], object]
    meters: Mapping[str, Meter] = field(default_factory=dict)
    """Services that say themselves how busy they are, by role."""
    machines: Mapping[str, Gauge] = field(default_factory=dict)
    """Machines that are seen from both sides, by name."""
    status: Mapping[str, StatusReader] = field(default_factory=dict)
    """Services that say what they do."""
    knows_all: bool = True
    """Whether all that belongs to the run on this host is among the roles."""
    ports: tuple[int, ...] = ()
    """Ports at which a system listens that others set up on this host: its programs are found by them."""
    _listeners: tuple[int, ...] = ()

    async def run(self) -> None:
        """Samples until it is cancelled."""
        started = time.monotonic()
        self._listeners = await asyncio.to_thread(find_listeners, self.ports) if self.ports else ()
        last, turn = await self._read(), 1
        while True:
            await asyncio.sleep(max(0.0, started + turn * MONITOR_INTERVAL_S - time.monotonic()))
            now = await self._read()
            sample = _compute_sample(last, now)
            self.write(sample if self.knows_all else replace(sample, ours_cores=None, known_cores=sample.ours_cores))
            last, turn = now, turn + 1

    async def _read(self) -> Reading:
        """This host first, since nothing there waits; then all others at once."""
        host = _read_host(self.roles(), self._listeners)
        stations = _each({role: meter.read for role, meter in self.meters.items()})
        inside = _each({name: partial(read_gauge, gauge) for name, gauge in self.machines.items()})
        services = _each({name: status.read for name, status in self.status.items()})
        station_readings, seen, statuses = await asyncio.gather(stations, inside, services)
        machines = {name: reading or GaugeReading() for name, reading in seen.items()}
        return Reading(host, station_readings, machines, statuses)


async def _each(readings: Mapping[str, Callable[[], Awaitable[T]]]) -> dict[str, T | None]:
    """What each says, all asked at once; None for what does not within the time of a sample."""

    async def read(reading: Callable[[], Awaitable[T]]) -> T | None:
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(reading(), ASKED_S)
        return None

    return dict(zip(readings, await asyncio.gather(*(read(reading) for reading in readings.values())), strict=True))


def find_listeners(ports: Sequence[int]) -> tuple[int, ...]:
    """Process ids that listen at these TCP ports of this host, as far as they may be seen."""
    with contextlib.suppress(psutil.Error, OSError):
        open_sockets = psutil.net_connections("tcp")
        listening = [
            open_socket for open_socket in open_sockets if open_socket.status == psutil.CONN_LISTEN and open_socket.pid
        ]
        return tuple(
            {listener.pid for listener in listening if listener.pid and getattr(listener.laddr, "port", None) in ports}
        )
    return ()


def _read_host(roles: Mapping[str, int], also: Sequence[int] = ()) -> HostCounters:
    trees = {role: list_members(pid) for role, pid in roles.items()}
    groups = _own_groups(roles)
    shared = [tree for role, tree in trees.items() if role not in groups]
    listening = [list_members(pid) for pid in also]
    ours = sum_cpu_seconds([*shared, *listening, find_processes(os.getpid())])
    return HostCounters(
        unix_s=time.time(),
        monotonic_s=time.monotonic(),
        cpu=_host_cpu(os.sched_getaffinity(0)),
        memory=_read_fields(psutil.virtual_memory),
        swap=_read_fields(psutil.swap_memory),
        disk=_read_fields(psutil.disk_io_counters),
        network=_read_fields(psutil.net_io_counters),
        tcp_pressure_ms=_tcp_pressure_ms(),
        trees={role: _sum(members, groups.get(role)) for role, members in trees.items()},
        ours_s=sum(ours.values()) + sum(sum(group.read_seconds() or ()) for group in groups.values()),
    )


def _read_fields(read: Callable[[], Any]) -> Counters:
    """Fields of a figure of the host by name; none where this system does not show it."""
    figure = read_shown(read)
    return figure._asdict() if figure else {}


def _host_cpu(cores: Iterable[int]) -> dict[str, float]:
    """CPU seconds by mode of the cores that this run may use: what others have is no matter of it."""
    each: list[Any] = read_shown(lambda: psutil.cpu_times(percpu=True)) or []
    used = [each[core]._asdict() for core in cores if core < len(each)]
    return {mode: sum(times[mode] for times in used) for mode in (used[0] if used else ())}


def _tcp_pressure_ms() -> int | None:
    """For how long the machine has been short of memory for TCP, as Linux counts it; None where it does not."""
    try:
        names, values = (line.split() for line in NETSTAT.read_text().splitlines() if line.startswith("TcpExt:"))
        return int(dict(zip(names, values, strict=True))["TCPMemoryPressuresChrono"])
    except (OSError, ValueError, KeyError):
        return None


def _own_groups(roles: Mapping[str, int]) -> dict[str, CpuGroup]:
    """Control groups of those roles that have one for themselves: they know of programs that ended and that nobody
    waited for, as those of some servers' CGI.
    """
    groups = {role: group for role, pid in roles.items() if (group := group_of(pid)) is not None}
    counts = Counter(group.file for group in groups.values())
    return {role: group for role, group in groups.items() if counts[group.file] == 1}


def _sum(members: Sequence[psutil.Process], group: CpuGroup | None) -> TreeCounters | None:
    """Returns the counters of a process and all below it, CPU seconds as its group has them where it has one; None when
    it is gone.
    """
    if not members:
        return None
    user = system = 0.0
    rss = threads = processes = 0
    for process in members:
        with contextlib.suppress(psutil.Error), process.oneshot():
            used = read_cpu_s(process)
            user, system = user + used[0], system + used[1]
            rss += process.memory_info().rss
            threads += process.num_threads()
            processes += 1
    seconds = group.read_seconds() if group is not None else None
    user, system = seconds or (user, system)
    return TreeCounters(user, system, rss, threads, processes, seconds is not None)


def _compute_sample(before: Reading, after: Reading) -> Sample:
    """Returns the rates between two readings."""
    last, host = before.host, after.host
    seconds = max(1e-9, host.monotonic_s - last.monotonic_s)
    return Sample(
        unix_s=host.unix_s,
        seconds=seconds,
        cpu_cores=compute_cpu_cores(last.cpu, host.cpu, seconds),
        memory_bytes={key: float(host.memory[key]) if key in host.memory else None for key in SAMPLED_MEMORY},
        swap=compute_rates(last.swap, host.swap, ("sin", "sout"), seconds),
        disk=compute_disk_rates(last.disk, host.disk, seconds),
        network=compute_network_rates(last.network, host.network, seconds),
        tcp_pressure_s=_pressure_s(last.tcp_pressure_ms, host.tcp_pressure_ms),
        stations={role: compute_station_usage(before.stations.get(role), now) for role, now in after.stations.items()},
        machines={name: compute_views(before.machines.get(name), now) for name, now in after.machines.items()},
        status={name: compute_status_figures(before.status.get(name), now) for name, now in after.status.items()},
        # All of a process that came meanwhile counts; of one that ended, what its parent has of it.
        ours_cores=max(0.0, host.ours_s - last.ours_s) / seconds,
        trees={role: _tree_use(last.trees.get(role), tree, seconds) for role, tree in host.trees.items()},
    )


def _pressure_s(before: int | None, after: int | None) -> float | None:
    return None if before is None or after is None else (after - before) / 1000


def _tree_use(before: TreeCounters | None, after: TreeCounters | None, seconds: float) -> TreeUse | None:
    if before is None or after is None:
        return None
    user_cores = max(0.0, after.user - before.user) / seconds
    system_cores = max(0.0, after.system - before.system) / seconds
    return TreeUse(user_cores, system_cores, after.rss, after.threads, after.processes, after.is_whole)
