"""A fleet on Ray (docs.ray.io): inventory, reservation by resources of each host, life and death of one supervising
actor a host, small messages. Nothing is ever started anew by itself: who is gone makes the run invalid.

The engine lives in a process of its own, which is this module: Ray ends the process that uses it when its head is gone,
and a run must outlive that with all its records.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from loadstone.fleet.cluster import name_resource
from loadstone.fleet.contract import FleetError, FoundHost, HostLostError, Json
from loadstone.fleet.engine_process import serve_engine
from loadstone.fleet.supervisor import Supervisor
from loadstone.model.fleet import FleetSpec, HostSpec

RESERVE_S = 15.0
"""Longest wait for all hosts to be free at once: what another coordinator has it keeps."""
RAY_CONNECT_TIMEOUT_S = 5.0
"""Longest wait for the head to take a connection: the engine itself would wait for minutes."""
MOST_CALLS_AT_ONCE = 1000
"""Questions that a supervisor has under way."""


class SupervisorActor:
    """One host's supervisor in a process of its own."""

    def __init__(self, name: str, address: str, cores: str) -> None:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))  # the engine has others, which are not for its machines
        self.supervisor = Supervisor(name, address, cores, ended=lambda: os._exit(0))

    async def answer(self, document: Json) -> Json:
        """Returns the supervisor's answer to a request in plain data."""
        # Ray keeps signals from its threads; what this one starts would have none either, and could not be stopped.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        return await self.supervisor.answer(document)


ACTOR: Any = ray.remote(SupervisorActor)
ACTOR_OPTIONS = {"max_restarts": 0, "max_task_retries": 0, "num_cpus": 0, "max_concurrency": MOST_CALLS_AT_ONCE}
"""Nobody starts it anew; it waits more than it works."""


@dataclass
class RayEngine:
    """Supervisors as actors of a cluster."""

    spec: FleetSpec
    address: str
    """HOST:PORT of the cluster."""
    actors: dict[str, Any] = field(default_factory=dict)
    group: PlacementGroup | None = None

    async def list_hosts(self) -> dict[str, FoundHost]:
        """The cluster's nodes that have a host's resource."""
        await self._connect()
        hosts = {}
        for node in await asyncio.to_thread(ray.nodes):
            for name in self.spec.hosts:
                if node["Resources"].get(name_resource(name)):
                    memory = int(node["Resources"].get("memory", 0)) >> 20
                    hosts[name] = FoundHost(node["Alive"], node["NodeManagerAddress"], f"{memory} MiB")
        return hosts

    async def reserve(self, names: list[str]) -> None:
        """A placement group of all hosts' resources, then an actor on each."""
        hosts = await self.list_hosts()
        absent = [name for name in names if name not in hosts or not hosts[name].is_alive]
        if absent:
            raise FleetError(f"Not in the cluster: {', '.join(absent)}. `loadstone fleet up` starts hosts.")
        bundles = [{name_resource(name): 1.0} for name in names]
        group: PlacementGroup = await asyncio.to_thread(placement_group, bundles, "STRICT_SPREAD")
        self.group = group
        if not await asyncio.to_thread(group.wait, RESERVE_S):
            free = await asyncio.to_thread(ray.available_resources)
            taken = [name for name in names if not free.get(name_resource(name))]
            listed = ", ".join(taken) or "some host"
            raise FleetError(f"In use by another coordinator: {listed}. Wait for it, or stop it.")
        for index, name in enumerate(names):
            self.actors[name] = _actor(group, index, name, self.spec.hosts[name])

    async def ask(self, name: str, document: Json) -> Json:
        """Returns the answer of the actor's method. The caller limits the wait."""
        if name not in self.actors:
            raise HostLostError(f"the host {name} is not reserved")
        try:
            answer: Json = await asyncio.wrap_future(self.actors[name].answer.remote(document).future())
        except RayError as error:
            raise HostLostError(_first_line(error)) from None
        return answer

    async def release(self) -> None:
        """Ends the actors and gives the resources back."""
        for actor in self.actors.values():
            with contextlib.suppress(RayError):
                await asyncio.to_thread(ray.kill, actor)
        self.actors.clear()
        if self.group is not None:
            with contextlib.suppress(RayError):
                await asyncio.to_thread(remove_placement_group, self.group)
            self.group = None

    async def _connect(self) -> None:
        if ray.is_initialized():
            return
        try:
            host, _, port = self.address.rpartition(":")
            _, writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), RAY_CONNECT_TIMEOUT_S)
            writer.close()
            logging.getLogger("ray").setLevel(logging.ERROR)
            quiet: Json = {"logging_level": logging.ERROR, "log_to_driver": False, "configure_logging": False}
            ray.init(address=self.address, **quiet)
        except (RayError, ConnectionError, RuntimeError, OSError, ValueError, TimeoutError) as error:
            raise FleetError(f"No cluster answers at {self.address}: {_first_line(error)}") from None


def _actor(group: PlacementGroup, index: int, name: str, host: HostSpec) -> Any:
    strategy = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=index)
    options = {"resources": {name_resource(name): 1.0}, "scheduling_strategy": strategy, **ACTOR_OPTIONS}
    return ACTOR.options(**options).remote(name, host.address, host.cores)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def serve_coordinator() -> None:
    """Serves the coordinator that started this process, until it closes standard input."""
    address, declared = sys.argv[1:]
    # By its full name, or the engine would look for the actor's class in a module that no other process has.
    from loadstone.fleet import ray_engine

    engine = ray_engine.RayEngine(FleetSpec.model_validate_json(declared), address)
    asyncio.run(serve_engine(engine))
    os._exit(0)  # Ray's own end would wait for a head that is gone


if __name__ == "__main__":
    serve_coordinator()
