"""The laboratory's end of a conversation with a machine's agent."""

import asyncio
import json

import pytest

from loadstone.model.errors import PlatformError
from loadstone.platforms.vm import agent
from loadstone.platforms.vm.agent import SCHEMA, Agent

HELLO = json.dumps({"event": "hello", "schema": SCHEMA}).encode() + b"\n"


async def connected(silent: int) -> tuple[dict[str, object], int]:
    """What an agent says first that says nothing on its first connections, and how many were made."""
    connections = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        if len(connections) > silent:
            writer.write(HELLO)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1")
    conversation = Agent()
    try:
        said = await conversation.connect("127.0.0.1", server.sockets[0].getsockname()[1])
    finally:
        await conversation.close()
        server.close()
    return said, len(connections)


def test_an_agent_that_says_nothing_is_asked_over_another_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asyncio.run(connected(0)) == (json.loads(HELLO), 1)
    monkeypatch.setattr(agent, "HELLO_S", 0.1)
    hello, connections = asyncio.run(connected(2))
    assert hello == json.loads(HELLO)
    assert connections >= 3  # a stall of 0.1 s costs another one


def test_an_agent_that_never_says_anything_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "HELLO_S", 0.1)
    monkeypatch.setattr(agent, "GUEST_AGENT_TIMEOUT_S", 0.3)
    with pytest.raises(PlatformError, match=r"it accepted the connection, but sent nothing for 0\.1 s"):
        asyncio.run(connected(99))
