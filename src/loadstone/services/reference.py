"""The reference servers as services: their commands and what their ready line says."""

import json
from dataclasses import dataclass

from loadstone.model.errors import ServiceError
from loadstone.model.target import Endpoint
from loadstone.services.programs import server


@dataclass(frozen=True)
class Ready:
    """Where a service answers."""

    http: Endpoint | None
    https: Endpoint | None
    authority_pem: str | None
    """Certificate of the authority that signed the server's."""


def backend_command(threads: int) -> list[str]:
    """The back-end simulator on a free port of the loopback address."""
    return [server(), "backend", "--until-stdin-ends", "--threads", str(threads)]


def web_command(backend: Endpoint, threads: int) -> list[str]:
    """The three web sites on two free ports of the loopback address; certificates are made new, in memory."""
    command = [server(), "web", "--until-stdin-ends", "--threads", str(threads), "--backend", str(backend)]
    return [*command, "--listen-tls", "127.0.0.1:0"]


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
