"""An engine in a process of its own, and both ends of the pipe to it: a JSON document a line, answers in any order."""

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Annotated, Any, Protocol, TypeAlias

from pydantic import ConfigDict, TypeAdapter

from loadstone.fleet.contract import FleetError, FoundHost, HostLostError, Json
from loadstone.fleet.messages import Answer, FleetMessage, OneOf, answer_of, serve, write_error, write_message
from loadstone.host import launch
from loadstone.host.process import stop
from loadstone.host.secrets import CLUSTER_TOKEN

ENGINE_LONGEST_LINE = 64 << 20
"""Bytes of an answer: logs of a host are the longest."""
FOUND_S = 60.0
RELEASE_S = 10.0
"""Longest wait for an engine to give its hosts back."""
SILENT_S = 1.5
"""The same for a word that it is there."""
ENGINE_MODULE = "loadstone.fleet.ray_engine"


class ForEngine(FleetMessage[Answer]):
    """For an engine."""


class FindHosts(ForEngine[dict[str, FoundHost]], kind="list_hosts"):
    """Return the hosts that are there."""


class ReserveHosts(ForEngine[None], kind="reserve"):
    """Take hosts."""

    names: list[str]


class AskHost(ForEngine[Json], kind="ask"):
    """Pass a message on to a host's supervisor; its answer or its error."""

    name: str
    document: Json


class ReleaseHosts(ForEngine[None], kind="release"):
    """Give the hosts back."""


EngineRequest: TypeAlias = Annotated[ForEngine[Any], OneOf()]
ENGINE_REQUESTS: TypeAdapter[EngineRequest] = TypeAdapter(EngineRequest, config=ConfigDict(defer_build=True))


class Engine(Protocol):
    """An engine in its process, which carries out these messages."""

    async def list_hosts(self) -> dict[str, FoundHost]:
        """The hosts that are there."""

    async def reserve(self, names: list[str]) -> None:
        """Reserves hosts for this coordinator."""

    async def ask(self, name: str, document: Json) -> Json:
        """Returns the answer of a host's supervisor to a request."""

    async def release(self) -> None:
        """Gives the hosts back."""


async def serve_engine(engine: Engine) -> None:
    """Answers on standard output what is asked on standard input, until that ends. What the engine itself writes goes
    to standard error.
    """
    answers, sys.stdout = sys.stdout, sys.stderr
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=ENGINE_LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    pending: set[asyncio.Task[None]] = set()
    while line := await reader.readline():
        task = asyncio.create_task(_answer(engine, json.loads(line), answers))
        pending.add(task)
        task.add_done_callback(pending.discard)


async def _answer(engine: Engine, request: Json, answers: IO[str]) -> None:
    try:
        answer = await serve(ENGINE_REQUESTS, request["message"], "The engine", engine)
    except Exception as error:  # the engine's own, of many kinds
        answer = write_error(FleetError(f"{type(error).__name__}: {error}"))
    answers.write(json.dumps({"turn": request["turn"], **answer}) + "\n")
    answers.flush()


@dataclass
class ProcessFleet:
    """A fleet whose engine is a process."""

    argv: Sequence[str]
    """The engine's command."""
    head: str
    """HOST:PORT of its cluster's head; the cluster is gone when that takes no connections."""
    environment: Mapping[str, str] = field(default_factory=dict)
    turns: Iterator[int] = field(default_factory=itertools.count)
    waiting: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    process: asyncio.subprocess.Process | None = None
    reading: asyncio.Task[None] | None = None

    async def list_hosts(self) -> Mapping[str, FoundHost]:
        """The hosts that the cluster has."""
        return await self._ask(FindHosts(), FOUND_S)

    async def reserve(self, names: Sequence[str]) -> None:
        """All or none."""
        await self._ask(ReserveHosts(list(names)), FOUND_S)

    async def ask(self, name: str, document: Json, timeout_s: float) -> Any:
        """Returns the answer of a host's supervisor, asked by a message to the engine."""
        return answer_of(await self._ask(AskHost(name, document), timeout_s, name))

    async def describe_failure(self) -> str:
        """Whether the engine's process lives, and its head takes connections."""
        if self.process is not None and self.process.returncode is not None:
            return _ended(self.process.returncode)
        host, _, port = self.head.rpartition(":")
        try:
            _, writer = await asyncio.wait_for(asyncio.open_connection(host, int(port)), SILENT_S)
            writer.close()
        except (OSError, ValueError, TimeoutError) as error:
            return f"the head of the cluster at {self.head} is gone ({type(error).__name__})"
        return ""

    async def release(self) -> None:
        """Asks the engine to give its hosts back, and ends it whether it did or not."""
        if self.process is None:
            return
        if not await self.describe_failure():
            with contextlib.suppress(FleetError):
                await self._ask(ReleaseHosts(), RELEASE_S)
        if self.process.returncode is None:
            await stop(self.process)
        if self.reading is not None:
            await asyncio.gather(self.reading, return_exceptions=True)
        self.process = self.reading = None

    async def _ask(self, request: ForEngine[Answer], timeout_s: float, who: str = "the engine") -> Answer:
        process = await self._started()
        if process.returncode is not None:
            raise HostLostError(_ended(process.returncode))
        turn = next(self.turns)
        done = self.waiting[turn] = asyncio.get_running_loop().create_future()
        try:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                process.stdin.write(json.dumps({"turn": turn, "message": write_message(request)}).encode() + b"\n")
            return request.read_answer(answer_of(await asyncio.wait_for(done, timeout_s)))
        except TimeoutError:
            raise HostLostError(f"{who} did not answer within {timeout_s:g} s") from None
        finally:
            del self.waiting[turn]

    async def _started(self) -> asyncio.subprocess.Process:
        if self.process is None:
            self.process = await launch.start(
                *self.argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=ENGINE_LONGEST_LINE,
                start_new_session=True,
                also=launch.OF_ENGINE,
                extra={**_token_of_others(), **self.environment},
            )
            self.reading = asyncio.create_task(self._read(self.process))
        return self.process

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            answer = json.loads(line)
            if (waiting := self.waiting.get(answer.pop("turn"))) is not None and not waiting.done():
                waiting.set_result(answer)
        code = await process.wait()
        for waiting in self.waiting.values():
            if not waiting.done():
                waiting.set_exception(HostLostError(_ended(code)))


def _token_of_others() -> dict[str, str]:
    """The token of a cluster that others started, which only its engine knows; nothing where there is none."""
    token = os.environ.get(CLUSTER_TOKEN)
    return {CLUSTER_TOKEN: token} if token else {}


def _ended(code: int) -> str:
    return f"the engine of the fleet ended with code {code}"
