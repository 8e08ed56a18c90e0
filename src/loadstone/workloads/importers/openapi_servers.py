"""Servers of an OpenAPI document: where its operations are, and what their paths begin with."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from loadstone.workloads.importers.openapi import Json, copy_list, copy_table

UNKNOWN = "http://HOST:PORT"
"""Stands for a server that the document does not name."""

USUAL_PORTS = {"http": 80, "https": 443}
"""Ports that addresses leave out."""


@dataclass(frozen=True)
class Server:
    """Where an operation is served: a target without a path, and what its paths begin with."""

    target: str = UNKNOWN
    base: str = ""
    unset: tuple[str, ...] = ()
    """Variables of its address without a default; their names stand in it."""


def choose_server(servers: list[Any]) -> Server:
    """The first of an operation's servers that speaks HTTP, its variables filled in by their defaults. Relative
    addresses begin at the root of a server that is not named.
    """
    known = [_server(copy_table(server)) for server in servers]
    return next((candidate for candidate in known if candidate.target), Server())


def _server(first: Json) -> Server:
    """A server; without a target where it speaks another protocol."""
    address, unset = _filled(str(first.get("url", "")).strip(), copy_table(first.get("variables")))
    if re.match(r"[A-Za-z0-9.-]+:[0-9]+(/|$)", address):
        address = f"http://{address}"
    try:
        parts = urlsplit(urljoin(f"{UNKNOWN}/", address))
    except ValueError:
        return Server(unset=unset)
    base = re.sub(r"/{2,}", "/", parts.path).rstrip("/")
    host = parts.netloc.rpartition("@")[2]
    host = host if host == UNKNOWN.partition("://")[2] else host.lower()
    host = host.removesuffix(f":{USUAL_PORTS.get(parts.scheme, '')}") if parts.scheme in USUAL_PORTS else host
    target = f"{parts.scheme}://{host}" if host and parts.scheme in USUAL_PORTS else ""
    return Server(target, base, unset)


def _filled(address: str, variables: Json) -> tuple[str, tuple[str, ...]]:
    """An address with its variables in place, and those that have no value."""
    unset: list[str] = []

    def value(match: re.Match[str]) -> str:
        variable = copy_table(variables.get(match.group(1)))
        known = [variable.get("default"), *copy_list(variable.get("enum"))]
        texts = [str(choice) for choice in known if choice is not None and not isinstance(choice, dict | list)]
        unset.extend([] if texts else [match.group(1)])
        return texts[0] if texts else match.group(1)

    return re.sub(r"\{([^{}]*)\}", value, address), tuple(dict.fromkeys(unset))
