"""A fleet on Ray (docs.ray.io): inventory, reservation by resources of each host, life and death of one supervising
actor a host, small messages. Nothing is ever started anew by itself: who is gone makes the run invalid.
"""

import asyncio
import atexit
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import ray
from ray.exceptions import RayActorError, RayError
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from loadstone.fleet.cluster import resource_of
from loadstone.fleet.contract import FleetError, FoundHost, HostLostError, Json, answer_of
from loadstone.fleet.supervisor import Supervisor
from loadstone.model.fleet import FleetSpec, HostSpec

RESERVE_S = 15.0
"""Longest wait for all hosts to be free at once: what another coordinator has it keeps."""
START_S = 60.0
"""Longest start of a supervisor: a Python process that has read its modules."""
CONNECT_S = 5.0
"""Longest wait for the head to take a connection: the engine itself would wait for minutes."""
KNOCK_S = 1.5
"""The same while it is watched."""
MOST_AT_ONCE = 1000
"""Questions that a supervisor has under way."""


class SupervisorActor:
    """One host's supervisor in a process of its own."""

    def __init__(self, name: str, address: str, cores: str) -> None:
        self.supervisor = Supervisor(name, address, cores, ended=lambda: os._exit(0))

    async def answer(self, question: str, words: Json) -> Json:
        """As the supervisor does."""
        return await self.supervisor.answer(question, words)


T = TypeVar("T")

ACTOR: Any = ray.remote(SupervisorActor)
ONCE = {"max_restarts": 0, "max_task_retries": 0, "num_cpus": 0, "max_concurrency": MOST_AT_ONCE}
"""Nobody starts it anew; it waits more than it works."""


@dataclass
class RayFleet:
    """Supervisors as actors of a cluster."""

    spec: FleetSpec
    address: str
    """HOST:PORT of the cluster."""
    actors: dict[str, Any] = field(default_factory=dict)
    group: PlacementGroup | None = None

    async def found(self) -> Mapping[str, FoundHost]:
        """The cluster's nodes that have a host's resource."""
        await self._connect()
        found = {}
        for node in await _apart(ray.nodes):
            for name in self.spec.hosts:
                if node["Resources"].get(resource_of(name)) or node["Labels"].get(resource_of(name)):
                    memory = int(node["Resources"].get("memory", 0)) >> 20
                    found[name] = FoundHost(node["Alive"], node["NodeManagerAddress"], f"{memory} MiB")
        return found

    async def reserve(self, names: Sequence[str]) -> None:
        """A placement group of all hosts' resources, then an actor on each."""
        found = await self.found()
        absent = [name for name in names if name not in found or not found[name].is_alive]
        if absent:
            raise FleetError(f"Not in the cluster: {', '.join(absent)}. `loadstone fleet up` starts hosts.")
        bundles = [{resource_of(name): 1.0} for name in names]
        group: PlacementGroup = await _apart(placement_group, bundles, "STRICT_SPREAD")
        self.group = group
        if not await _apart(group.wait, RESERVE_S):
            free = await _apart(ray.available_resources)
            taken = [name for name in names if not free.get(resource_of(name))]
            raise FleetError(f"In use by another coordinator: {', '.join(taken) or 'some host'}. Wait, or end it.")
        for at, name in enumerate(names):
            host = self.spec.hosts[name]
            self.actors[name] = await _apart(_actor, group, at, name, host)

    async def ask(self, name: str, question: str, words: Json, timeout_s: float) -> Any:
        """By a call of the actor's method."""
        if name not in self.actors:
            raise HostLostError(f"the host {name} is not reserved")
        try:
            asked = self.actors[name].answer.remote(question, words)
            return answer_of(await asyncio.wait_for(asyncio.wrap_future(asked.future()), timeout_s))
        except TimeoutError:
            raise HostLostError(f"{name} did not answer within {timeout_s:g} s") from None
        except RayError as error:
            raise HostLostError(_first_line(error)) from None

    async def death(self, name: str) -> str:
        """As the actor's error tells it."""
        try:
            await asyncio.wait_for(asyncio.wrap_future(self.actors[name].answer.remote("", {}).future()), 1.0)
        except RayActorError as error:
            return _first_line(error)
        except (RayError, TimeoutError, KeyError) as error:
            return type(error).__name__
        return ""

    async def failure(self) -> str:
        """The head takes connections, or the cluster is gone."""
        try:
            await self._knock(KNOCK_S)
        except (OSError, ValueError, TimeoutError) as error:
            return f"the head of the cluster at {self.address} is gone: {_first_line(error)}"
        return ""

    async def release(self) -> None:
        """Ends the actors and gives the resources back; with a head that is gone there is nobody to give them to."""
        if not ray.is_initialized():
            return
        if await self.failure():
            atexit.unregister(ray.shutdown)  # which would wait for it
            return
        for actor in self.actors.values():
            with contextlib.suppress(RayError):
                await _apart(ray.kill, actor)
        self.actors.clear()
        if self.group is not None:
            with contextlib.suppress(RayError):
                await _apart(remove_placement_group, self.group)
            self.group = None
        await _apart(ray.shutdown)

    async def _knock(self, timeout_s: float) -> None:
        """Raises OSError, TimeoutError and ValueError unless the head takes a connection."""
        host, _, port = self.address.rpartition(":")
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), timeout_s)
        writer.close()

    async def _connect(self) -> None:
        if ray.is_initialized():
            return
        try:
            await self._knock(CONNECT_S)
            logging.getLogger("ray").setLevel(logging.ERROR)
            quiet: Json = {"logging_level": logging.ERROR, "log_to_driver": False, "configure_logging": False}
            await _apart(ray.init, address=self.address, **quiet)
        except (RayError, ConnectionError, RuntimeError, OSError, ValueError, TimeoutError) as error:
            raise FleetError(f"No cluster answers at {self.address}: {_first_line(error)}") from None


def _actor(group: PlacementGroup, at: int, name: str, host: HostSpec) -> Any:
    strategy = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=at)
    options = {"resources": {resource_of(name): 1.0}, "scheduling_strategy": strategy, **ONCE}
    return ACTOR.options(**options).remote(name, host.address, host.cores)


async def _apart(work: Callable[..., T], *words: Any, **named: Any) -> T:
    """Has the engine do something that blocks, on a thread that nobody waits for at the end: one that waits for a head
    that is gone would hold the program up. Raises what it raises, and FleetError when it takes too long.
    """
    done: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def tell(set_it: Callable[[Any], None], what: object) -> None:
        with contextlib.suppress(RuntimeError):  # nobody waits any more
            done.get_loop().call_soon_threadsafe(lambda: None if done.done() else set_it(what))

    def do() -> None:
        try:
            tell(done.set_result, work(*words, **named))
        except BaseException as error:
            tell(done.set_exception, error)

    threading.Thread(target=do, daemon=True).start()
    try:
        return await asyncio.wait_for(done, START_S)
    except TimeoutError:
        raise FleetError(f"The cluster did not answer within {START_S:g} s.") from None


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
