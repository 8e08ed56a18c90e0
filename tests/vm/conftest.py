"""Pairs that the tests of a module share, with users; and what such a module must leave behind: nothing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest
from benches.failovers import Client, Writer, database_of, serving

from loadstone.host import runtime
from loadstone.model.fault import FaultKind
from loadstone.platforms.pair import command as pair_command
from loadstone.platforms.pair import local_side
from loadstone.platforms.pair.command import PairLayout
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.pair.side import Side
from tests.contract.conftest import OURS, traces
from tests.waiting import PATIENT_MS, WAIT_S, until

MORE = 20
"""Answers after which a client is known to be served."""
Asking = TypeVar("Asking", bound=Client)


@contextmanager
def leaving_nothing() -> Iterator[None]:
    """Checks at its end that no process, namespace, link, group or folder is left of what the block made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "RUNTIME_PREFIX", OURS)
        before = traces()
        yield
        psutil.wait_procs(psutil.Process().children(recursive=True), timeout=10)
        left = {kind: held - before[kind] for kind, held in traces().items()}
        assert not any(left.values()), left


@pytest.fixture(scope="module")
def nothing_is_left_of_module() -> Iterator[None]:
    """Checks that a module whose tests share machines leaves nothing."""
    with leaving_nothing():
        yield


@dataclass
class SharedPair:
    """A pair that is up between tests; its loop runs while one of them plays on it."""

    runner: asyncio.Runner
    machine: PairMachine
    web: tuple[str, int]
    """Where its web service is reached."""
    _database: list[tuple[str, int]] = field(default_factory=list)

    def play(self, scene: Callable[[], Awaitable[None]]) -> None:
        """Plays a scene on the pair, which is whole when it begins."""

        async def whole() -> None:
            self.machine.may_be_kept = False
            await self.machine.protect()
            await scene()

        self.runner.run(whole())

    @property
    def primary(self) -> Side:
        """The side that serves."""
        return self.machine.serving

    @property
    def secondary(self) -> Side:
        """The side that follows it; raises AssertionError where none does."""
        follower = self.machine.follower
        assert follower is not None
        return follower

    async def database(self) -> tuple[str, int]:
        """Returns where the machine's database is reached, which is started the first time."""
        if not self._database:
            self._database.append(await database_of(self.machine))
        return self._database[0]

    @asynccontextmanager
    async def client(self, patience_s: float = WAIT_S) -> AsyncIterator[Client]:
        """A client that asks for pages over one connection while the block runs; it has had answers already."""
        async with asking(Client(*self.web, patience_s)) as client:
            yield client

    @asynccontextmanager
    async def writer(self) -> AsyncIterator[Writer]:
        """A client that writes rows while the block runs and compares them at its end; it has written some already."""
        async with asking(Writer(*await self.database(), WAIT_S)) as writer:
            yield writer

    def events(self, name: str) -> list[dict[str, Any]]:
        """Returns all events of a name that any side told."""
        return [event for side in self.machine.sides for event in side.events if event["event"] == name]


@contextmanager
def shared_pair(folder: Path, **settings: Any) -> Iterator[SharedPair]:
    """Brings a pair up for several tests, with further settings of its machine."""
    with patient_agents(), asyncio.Runner() as runner:
        stack = AsyncExitStack()
        machine, host, port = runner.run(stack.enter_async_context(serving(folder, **settings)))
        try:
            yield SharedPair(runner, machine, (host, port))
        finally:
            runner.run(stack.aclose())


@contextmanager
def patient_agents() -> Iterator[None]:
    """Has agents of pairs that start in this process wait for longer than half a second for each other."""

    def agent(program: str, layout: PairLayout, *declared: Any) -> list[str]:
        return pair_command.build_agent_command(program, replace(layout, silence_ms=PATIENT_MS), *declared)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_side, "build_agent_command", agent)
        yield


@asynccontextmanager
async def asking(client: Asking) -> AsyncIterator[Asking]:
    """Has a client ask while the block runs; it has had answers when it begins."""
    task = asyncio.create_task(asyncio.to_thread(client.ask))
    try:
        await more_answers(client)
        yield client
    finally:
        client.end()
        await task


async def assert_nobody_answers(pair: SharedPair, fault: FaultKind) -> None:
    """Injects a fault, after which a client waits in vain."""
    async with pair.client(patience_s=5) as client:
        await pair.machine.fail(fault)
        await until(lambda: bool(client.errors))
    assert "timed out" in client.errors[0], client.errors


async def more_answers(client: Client) -> None:
    """Waits until a client has had some more answers."""
    wanted = len(client.answers) + MORE
    await until(lambda: len(client.answers) >= wanted or bool(client.errors))
    assert not client.errors
