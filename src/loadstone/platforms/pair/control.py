"""Talking to the process that keeps a pair: a socket for each, a JSON object a line, by the pair's name. Where that
process is gone and the pair lives, another one takes over in the background.
"""

import asyncio
import contextlib
import fcntl
import json
import re
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from loadstone.host import launch
from loadstone.model.errors import LoadstoneError, PlatformError, UsageError
from loadstone.platforms.journal import is_locked, make_private_folder
from loadstone.platforms.pair.record import PairRecord, read_pair

Json = dict[str, Any]
PAIR_CONTROL_TIMEOUT_S = 900.0
"""A secondary is made within that, its disk copied."""
TAKEOVER_TIMEOUT_S = 60.0
"""Longest wait for a new keeper to answer."""
CONTROL_RETRY_INTERVAL_S = 0.05
LOOKED_AT_S = 0.5
"""Longest time for which others look whether a pair has a keeper, which locks its file as well."""
KEEPER_BACKGROUND = "--background"
"""Option of a keeper that another command has started."""
Obey = Callable[[str, Json], Awaitable[Any]]
PAIR_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")
"""Names of pairs become names of files and sockets."""


class PairState(StrEnum):
    """How a pair is that was created here, and not ended by a command."""

    WITH_KEEPER = "kept"
    WITHOUT_KEEPER = "no keeper"
    ENDED = "ended"


def require_name(name: str) -> str:
    """Returns a name that a pair may have. Raises UsageError."""
    if not PAIR_NAME.fullmatch(name):
        raise UsageError(
            f"`{name}` is not a valid name of a pair. Use letters, digits, `-` and `_`, at most 41 characters, "
            "such as `shop-1`."
        )
    return name


def place_of(name: str, ending: str) -> Path:
    """A file of that pair, in the folder of all pairs."""
    folder = make_private_folder() / "pairs"
    folder.mkdir(exist_ok=True)
    return folder / f"{name}.{ending}"


def create_logs(name: str) -> Path:
    """The folder of what the programs of a pair write, created anew. It outlives its keeper. Raises OSError."""
    folder = place_of(name, "logs")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def record_of(name: str) -> PairRecord | None:
    """Returns what the next keeper must know of a pair; None where there is no such pair."""
    return read_pair(place_of(name, "json"))


def remember(record: PairRecord) -> None:
    """Stores what the next keeper must know of a pair. Raises OSError."""
    record.write(place_of(record.name, "json"))


def forget(name: str) -> None:
    """Removes what is stored of a pair that has ended."""
    shutil.rmtree(place_of(name, "logs"), ignore_errors=True)
    for ending in ("json", "sock", "lock"):
        place_of(name, ending).unlink(missing_ok=True)


def list_known() -> list[str]:
    """Names of all pairs that were created here and not ended by a command."""
    folder = place_of("", "json").parent
    return sorted({path.stem for ending in ("json", "logs", "sock") for path in folder.glob(f"*.{ending}")})


def state_of(name: str) -> PairState:
    """Whether a keeper runs, and whether the pair lives without one."""
    with contextlib.suppress(OSError), place_of(name, "lock").open("r") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return PairState.WITH_KEEPER
    return state_of_unkept(name)


def state_of_unkept(name: str) -> PairState:
    """Whether a pair lives that no other process keeps. Only its hosts know that of a pair over hosts."""
    record = record_of(name)
    lives = record is not None and (is_locked(record.folder) if record.fleet is None else not record.failed_end)
    return PairState.WITHOUT_KEEPER if lives else PairState.ENDED


@contextlib.contextmanager
def lock_keeper(name: str) -> Iterator[None]:
    """Has this process be the only keeper of a pair while the block runs. Raises PlatformError where it is not."""
    with place_of(name, "lock").open("w") as file:
        until = time.monotonic() + LOOKED_AT_S
        while not _has_locked(file):
            if time.monotonic() > until:
                raise PlatformError(f"A pair `{name}` already exists. Use another name.")
            time.sleep(CONTROL_RETRY_INTERVAL_S)
        yield


def _has_locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


@asynccontextmanager
async def listen_for_orders(name: str, obey: Obey) -> AsyncIterator[None]:
    """Does what others ask while the block runs."""
    path = place_of(name, "sock")

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

    path.unlink(missing_ok=True)  # left by a keeper that was killed
    server = await asyncio.start_unix_server(converse, path=path)
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)


async def ask(name: str, do: str, **details: Any) -> Any:
    """Has the keeper of a pair do something; where there is none, another one is started. Raises PlatformError."""
    reader, writer = await _connection(require_name(name))
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


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _connection(name: str) -> Connection:
    path = place_of(name, "sock")
    with contextlib.suppress(OSError):
        return await asyncio.open_unix_connection(path)
    if state_of(name) is PairState.ENDED:
        raise explain_absence(name)
    if state_of(name) is PairState.WITHOUT_KEEPER:
        start_keeper(name)
    until = time.monotonic() + TAKEOVER_TIMEOUT_S
    while time.monotonic() < until:
        await asyncio.sleep(CONTROL_RETRY_INTERVAL_S)
        with contextlib.suppress(OSError):
            return await asyncio.open_unix_connection(path)
        if state_of(name) is PairState.ENDED:
            break
    raise PlatformError(f"No keeper of the pair `{name}` answers: {_last_words(name)}")


def start_keeper(name: str) -> None:
    """Starts a keeper in the background. Raises OSError."""
    argv = [sys.executable, "-m", "loadstone", "pair", "keep", name, KEEPER_BACKGROUND]
    launch.start_detached(argv, place_of(name, "logs") / "keeper.log")


def explain_absence(name: str) -> PlatformError:
    """That there is no such pair, or no more."""
    if record_of(name) is not None:
        return PlatformError(
            f"The pair `{name}` has ended: its machine ended, or no command came within its lease. "
            "`loadstone pair clean` removes what is left of it."
        )
    running = ", ".join(pair for pair in list_known() if state_of(pair) is not PairState.ENDED) or "none"
    remedy = f"`loadstone pair create {name}` creates it. Running pairs: {running}."
    return PlatformError(f"No pair `{name}` is running here. {remedy}")


def _last_words(name: str) -> str:
    with contextlib.suppress(OSError):
        return (place_of(name, "logs") / "keeper.log").read_text(errors="replace").strip()[-400:] or "it wrote nothing"
    return "it wrote nothing"


async def read_statuses(takes_over: bool = False) -> list[Json]:
    """How all pairs are that are kept; those whose keeper is just going are left out. Those without a keeper get
    another one where that is wanted.
    """
    wanted = (PairState.WITH_KEEPER, PairState.WITHOUT_KEEPER) if takes_over else (PairState.WITH_KEEPER,)
    all_statuses = []
    for name in list_known():
        with contextlib.suppress(PlatformError):
            if state_of(name) in wanted:
                all_statuses.append(await ask(name, "status"))
    return all_statuses
