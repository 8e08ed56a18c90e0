"""Talking to whoever keeps a pair: a socket for each, a JSON object a line, by the pair's name."""

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from loadstone.model.errors import LoadstoneError, PlatformError, UsageError
from loadstone.platforms.journal import private_folder

Json = dict[str, Any]
PAIR_CONTROL_TIMEOUT_S = 900.0
"""A secondary is made within that, its disk copied."""
Obey = Callable[[str, Json], Awaitable[Any]]
PAIR_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")
"""Names of pairs become names of files and sockets."""


def require_name(name: str) -> str:
    """Returns a name that a pair may have. Raises UsageError."""
    if not PAIR_NAME.fullmatch(name):
        raise UsageError(
            f"`{name}` is not a valid name of a pair. Use letters, digits, `-` and `_`, at most 41 characters, "
            "such as `shop-1`."
        )
    return name


def sockets() -> Path:
    """Where the sockets of all pairs are."""
    folder = private_folder() / "pairs"
    folder.mkdir(exist_ok=True)
    return folder


def known() -> list[str]:
    """Names of the pairs that are kept."""
    return sorted(path.stem for path in sockets().glob("*.sock"))


@asynccontextmanager
async def listening(name: str, obey: Obey) -> AsyncIterator[None]:
    """Does what others ask while the block runs. Raises PlatformError where there is a pair of that name."""
    path = sockets() / f"{name}.sock"

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ValueError):
            request: Json = json.loads(await reader.readline())
            try:
                answer = {"ok": await obey(str(request.pop("do", "")), request)}
            except LoadstoneError as error:
                answer = {"error": str(error)}
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
        writer.close()

    if path.exists() and await _answers(path):
        raise PlatformError(f"A pair `{name}` already exists. Use another name.")
    server = await asyncio.start_unix_server(converse, path=path)
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)


async def ask(name: str, do: str, **details: Any) -> Any:
    """Has whoever keeps a pair do something. Raises PlatformError."""
    path = sockets() / f"{require_name(name)}.sock"
    try:
        reader, writer = await asyncio.open_unix_connection(path)
    except OSError as error:
        if isinstance(error, ConnectionRefusedError):
            path.unlink(missing_ok=True)  # left by a process that was killed
        others = ", ".join(known()) or "none"
        remedy = f"`loadstone pair create {name}` creates it. Running pairs: {others}."
        raise PlatformError(f"No pair `{name}` is running here. {remedy}") from None
    try:
        writer.write(json.dumps({"do": do, **details}).encode() + b"\n")
        reply = json.loads(await asyncio.wait_for(reader.readline(), PAIR_CONTROL_TIMEOUT_S) or b"{}")
    except (TimeoutError, ConnectionError, ValueError):
        reply = {}
    finally:
        writer.close()
    if "ok" not in reply:
        raise PlatformError(reply.get("error", f"The process that runs the pair `{name}` did not answer `{do}`."))
    return reply["ok"]


async def statuses() -> list[Json]:
    """How all pairs are that are kept; those whose keeper is just going are left out."""
    all_statuses = []
    for name in known():
        with contextlib.suppress(PlatformError):
            all_statuses.append(await ask(name, "status"))
    return all_statuses


async def _answers(path: Path) -> bool:
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_unix_connection(path)
        writer.close()
        return True
    return False
