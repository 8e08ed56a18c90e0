"""The reference servers as services: their commands and what their ready line says."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.model.errors import ServiceError
from loadstone.model.machine import SERVER
from loadstone.model.target import Endpoint


@dataclass(frozen=True)
class Ready:
    """Where a service answers."""

    http: Endpoint | None
    https: Endpoint | None
    authority_pem: str | None
    """Certificate of the authority that signed the server's."""


def backend_command(listen: str, threads: int) -> list[str]:
    """The back-end simulator on a free port of an address."""
    return [SERVER, "backend", "--until-stdin-ends", "--listen", f"{listen}:0", "--threads", str(threads)]


def web_command(listen: str, backend: Endpoint, threads: int, known_as: Sequence[str]) -> list[str]:
    """The three web sites on two free ports of an address; certificates for the names and addresses the server is
    `known_as` are made new, in memory.
    """
    command = [SERVER, "web", "--until-stdin-ends", "--threads", str(threads), "--backend", str(backend)]
    names = [word for name in known_as for word in ("--name", name)]
    return [*command, "--listen", f"{listen}:0", "--listen-tls", f"{listen}:0", *names]


def read_ready(line: str) -> Ready:
    """Reads a ready line; raises ServiceError for any other."""
    try:
        said = json.loads(line)
        if said["event"] != "ready":
            raise ValueError
        sides = {key: Endpoint.parse(said[key]) if said[key] else None for key in ("http", "https")}
    except (ValueError, KeyError, TypeError):
        raise ServiceError(f"The reference server said `{line.strip()}` instead of where it answers.") from None
    return Ready(sides["http"], sides["https"], said.get("authority"))
