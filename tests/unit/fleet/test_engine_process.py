"""An engine in a process of its own: what it is asked and answers crosses the pipe as it was sent."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from loadstone.fleet.contract import FleetError, FoundHost, HostLostError
from loadstone.fleet.engine_process import ProcessFleet
from loadstone.fleet.messages import write_message
from loadstone.fleet.requests import Beat

ENGINE = """
import asyncio
from loadstone.fleet.contract import FoundHost, HostLostError
from loadstone.fleet.engine_process import serve_engine
from loadstone.fleet.messages import read
from loadstone.fleet.requests import HOST_REQUESTS

class Engine:
    async def list_hosts(self):
        return {"s1": FoundHost(True, "10.0.0.2", "512 MiB")}

    async def reserve(self, names):
        self.names = names
        if "broken" in names:
            raise RuntimeError("out of order")

    async def ask(self, name, document):
        if name not in self.names:
            raise HostLostError(f"the host {name} is not reserved")
        if name == "slow":
            await asyncio.sleep(60)
        return {"value": {"kind": read(HOST_REQUESTS, document, name).kind, "name": name}}

    async def release(self):
        self.names = []

asyncio.run(serve_engine(Engine()))
"""


@asynccontextmanager
async def engine() -> AsyncIterator[ProcessFleet]:
    """A fleet with this engine, whose head takes connections."""
    head = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    fleet = ProcessFleet([sys.executable, "-c", ENGINE], f"127.0.0.1:{head.sockets[0].getsockname()[1]}")
    try:
        yield fleet
    finally:
        await fleet.release()
        head.close()


def on(what: Callable[[ProcessFleet], Awaitable[None]]) -> None:
    async def play() -> None:
        async with engine() as fleet:
            await what(fleet)

    asyncio.run(play())


def test_an_engine_finds_takes_and_asks_hosts() -> None:
    async def check(fleet: ProcessFleet) -> None:
        assert await fleet.list_hosts() == {"s1": FoundHost(True, "10.0.0.2", "512 MiB")}
        await fleet.reserve(["s1", "slow"])
        slow = asyncio.create_task(fleet.ask("slow", write_message(Beat()), 0.5))
        assert await fleet.ask("s1", write_message(Beat()), 30) == {"kind": "beat", "name": "s1"}
        with pytest.raises(HostLostError, match=r"slow did not answer within 0\.5 s"):
            await slow
        assert await fleet.describe_failure() == ""

    on(check)


def test_errors_of_an_engine_are_raised_here() -> None:
    async def check(fleet: ProcessFleet) -> None:
        with pytest.raises(FleetError, match="RuntimeError: out of order"):
            await fleet.reserve(["broken"])
        with pytest.raises(HostLostError, match="the host s2 is not reserved"):
            await fleet.ask("s2", write_message(Beat()), 30)
        with pytest.raises(FleetError, match="broken does not know `sing`"):
            await fleet.ask("broken", {"kind": "sing"}, 30)

    on(check)


def test_an_engine_that_ended_has_lost_all_hosts() -> None:
    async def check(fleet: ProcessFleet) -> None:
        await fleet.list_hosts()
        assert fleet.process is not None
        fleet.process.kill()
        await fleet.process.wait()
        assert await fleet.describe_failure() == "the engine of the fleet ended with code -9"
        with pytest.raises(HostLostError, match="ended with code -9"):
            await fleet.list_hosts()

    on(check)
