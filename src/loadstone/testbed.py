"""Composing machines and services into a system under test: up, ready, down."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from loadstone.model.errors import ServiceError
from loadstone.model.target import Target
from loadstone.platforms.process import child
from loadstone.services import reference


@dataclass(frozen=True)
class Testbed:
    """A system under test that is up."""

    __test__ = False  # its name begins like a test's

    target: Target
    about: str
    pids: dict[str, int]
    """Process ids by role, for the monitors; empty when the system is not ours to watch."""
    dead: Callable[[], str] = lambda: ""
    """Says which part of the system has died; empty while all is well."""


@asynccontextmanager
async def reference_testbed(logs: Path, threads: int) -> AsyncIterator[Testbed]:
    """The reference web server and its back-end simulator as processes on loopback."""
    async with AsyncExitStack() as stack:
        backend = await stack.enter_async_context(child(reference.backend_command(1), logs / "backend.log"))
        backend_at = reference.read_ready(backend.first_line).http
        if backend_at is None:
            raise ServiceError("The back-end simulator does not say where it answers.")
        command = reference.web_command(backend_at, threads)
        web = await stack.enter_async_context(child(command, logs / "web.log"))
        ready = reference.read_ready(web.first_line)
        about = f"reference server, {threads} threads, with its back-end simulator, as processes on this machine"
        pids = {"web": web.pid, "backend": backend.pid}

        def dead() -> str:
            services = {"web": web, "backend": backend}
            gone = [f"{role} ({child.end()})" for role, child in services.items() if child.end()]
            return ", ".join(gone)

        yield Testbed(Target(ready.http, ready.https, ready.authority_pem), about, pids, dead)


@asynccontextmanager
async def external_testbed(target: Target) -> AsyncIterator[Testbed]:
    """A system someone else set up."""
    sides = [f"{scheme}://{side}" for scheme, side in (("http", target.http), ("https", target.https)) if side]
    yield Testbed(target, f"{' and '.join(sides)}, set up by others", {})
