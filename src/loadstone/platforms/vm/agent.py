"""Talking to the agent in a machine: requests with numbers, answers, and what services write as it comes."""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone.model.errors import PlatformError

Json = dict[str, Any]

SCHEMA = 2
GUEST_AGENT_TIMEOUT_S = 20.0
"""Longest wait for an answer: a machine that is emulated and loaded takes seconds."""
GUEST_SETUP_TIMEOUT_S = 300.0
"""Longest wait for a program that starts or a file that is written: on a busy host, an emulated machine whose other
program started 50 processes took more than 20 s. The end of a machine ends the wait at once.
"""
GUEST_AGENT_RETRY_INTERVAL_S = 0.05
HELLO_S = 5.0
"""Longest time from a connection to the agent's first word; another is made then."""
AGENT_LONGEST_LINE = 1 << 20
PINGS = 8
"""Of which the quickest tells the clocks' difference best."""


@dataclass
class Agent:
    """The laboratory's end of a machine's channel."""

    hear: Callable[[Json], object] = lambda event: None
    """Told of every event."""
    _server: asyncio.Server | None = None
    _writer: asyncio.StreamWriter | None = None
    _answers: dict[int, asyncio.Future[Any]] = field(default_factory=dict)
    _hello: asyncio.Future[Json] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    _number: int = 0
    _conversation: asyncio.Task[None] | None = None

    async def listen(self, socket: Path) -> None:
        """Waits for the machine at a socket."""
        self._server = await asyncio.start_unix_server(self._converse, path=socket, limit=AGENT_LONGEST_LINE)

    async def connect(self, host: str, port: int) -> Json:
        """Talks to an agent that listens; what it says first. Raises PlatformError when none does in time."""
        why, until = "", time.monotonic() + GUEST_AGENT_TIMEOUT_S
        while time.monotonic() < until:
            try:
                reader, writer = await asyncio.open_connection(host, port, limit=AGENT_LONGEST_LINE)
            except OSError as error:
                why = str(error)
                await asyncio.sleep(GUEST_AGENT_RETRY_INTERVAL_S)
                continue
            self._conversation = asyncio.create_task(self._converse(reader, writer))
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(self.wait_hello(), HELLO_S)
            why = f"it accepted the connection, but sent nothing for {HELLO_S:g} s"
            writer.close()
            await self._conversation
        raise PlatformError(f"No agent answers at {host}:{port}: {why}")

    async def wait_hello(self) -> Json:
        """Waits for the agent's first message and returns it. Raises PlatformError."""
        hello = await asyncio.shield(self._hello)
        if hello.get("schema") != SCHEMA:
            remedy = "Run `make setup`; images are rebuilt automatically."
            raise PlatformError(f"The agent speaks schema {hello.get('schema')}, this is {SCHEMA}. {remedy}")
        return hello

    async def ask(self, do: str, timeout_s: float = GUEST_AGENT_TIMEOUT_S, **details: Any) -> Any:
        """Has the agent do something; returns its answer. Raises PlatformError when it cannot, or says nothing."""
        if self._writer is None or self._writer.is_closing():
            raise PlatformError(f"The machine's agent is gone and cannot `{do}`.")
        self._number += 1
        number = self._number
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._writer.write(json.dumps({"id": number, "do": do, **details}).encode() + b"\n")
        try:
            return await asyncio.wait_for(answer, timeout_s)
        except TimeoutError:
            raise PlatformError(f"The machine's agent did not `{do}` within {timeout_s:g} s.") from None
        finally:
            del self._answers[number]

    async def compare_clock(self) -> Json:
        """How far the machine's clock is ahead of the host's, and within what: half of the quickest round trip."""
        best: tuple[float, float] | None = None
        for _ in range(PINGS):
            before = time.time_ns()
            there = (await self.ask("clock"))["unix_ns"]
            after = time.time_ns()
            doubt = (after - before) / 2e9
            if best is None or doubt < best[1]:
                best = ((there - (before + after) / 2) / 1e9, doubt)
        assert best is not None
        return {"ahead_s": round(best[0], 6), "within_s": round(best[1], 6)}

    async def set_clock(self) -> None:
        """Sets the machine's clock to the host's. It is shifted: how long the request takes does not matter."""
        ahead_s = (await self.compare_clock())["ahead_s"]
        await self.ask("shift_clock", by_ns=-round(ahead_s * 1e9))

    def assume_hello(self, hello: Json) -> None:
        """Takes a first message that the agent of a restored machine sent before its state was saved."""
        self._hello.set_result(hello)

    @property
    def was_there(self) -> bool:
        """Whether the machine came so far that it can be asked to power itself off."""
        return self._hello.done()

    async def close(self) -> None:
        """Ends the conversation."""
        if self._writer is not None:
            self._writer.close()
        if self._conversation is not None:
            await self._conversation
        if self._server is not None:
            self._server.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        try:
            async for line in reader:
                self._take(line)
        except (ConnectionError, ValueError):
            pass  # a line beyond all bounds is no conversation any more
        finally:
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(PlatformError("The machine ended instead of answering."))
            writer.close()

    def _take(self, line: bytes) -> None:
        try:
            message: Json = json.loads(line)
            number = message.get("id", 0)
        except (ValueError, AttributeError):
            return  # noise of a machine that is going down
        answer = self._answers.get(number)
        if answer is not None and not answer.done():
            if "error" in message:
                answer.set_exception(PlatformError(message["error"]))
            else:
                answer.set_result(message["ok"])
        elif message.get("event") == "hello" and not self._hello.done():
            self._hello.set_result(message)
        elif "event" in message:
            self.hear(message)
