"""The reference servers as services: their commands and what their ready line says."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.host import launch
from loadstone.host.programs import find_server
from loadstone.host.runtime import make_temporary_folder
from loadstone.model.errors import ServiceError
from loadstone.model.machine import SERVER
from loadstone.model.target import Endpoint

AUTHORITY_FILE = "authority.pem"
"""The file with the certificate that signed the others."""
CERTIFIED_S = 30.0


@dataclass(frozen=True)
class ServerReady:
    """Where a service answers."""

    http: Endpoint | None
    https: Endpoint | None
    authority_pem: str | None
    """Certificate of the authority that signed the server's."""
    lmtp: Endpoint | None = None
    """Where a mail server accepts mail."""


def build_plain_command(role: str, listen: str, threads: int, *options: str) -> list[str]:
    """A role that only listens, on a free port of an address."""
    return [SERVER, role, "--until-stdin-ends", "--listen", f"{listen}:0", "--threads", str(threads), *options]


def build_backend_command(listen: str, threads: int) -> list[str]:
    """The back-end simulator on a free port of an address."""
    return build_plain_command("backend", listen, threads)


def build_dealership_command(listen: str, database: str, injection_rate: int, threads: int) -> list[str]:
    """The dealership; an empty database is filled for an injection rate."""
    return build_plain_command(
        "dealership", listen, threads, "--database", database, "--injection-rate", str(injection_rate)
    )


def build_statistics_command(listen: str, database: str) -> list[str]:
    """Tells what a database counts of itself."""
    return build_plain_command("statistics", listen, 1, "--database", database)


def build_web_command(listen: str, backend: str, threads: int, names: Sequence[str]) -> list[str]:
    """The three web sites on two free ports of an address, with certificates for these names and addresses."""
    command = [SERVER, "web", "--until-stdin-ends", "--threads", str(threads), "--backend", backend]
    options = [argument for name in names for argument in ("--name", name)]
    return [*command, "--listen", f"{listen}:0", "--listen-tls", f"{listen}:0", *options]


def create_certificate(names: Sequence[str]) -> dict[str, str]:
    """A new certificate for names and addresses: its files by name, that of its authority among them. Raises
    ServiceError.
    """
    options = [argument for name in names for argument in ("--name", name)]
    with make_temporary_folder("certificate") as folder:
        outcome = launch.run([find_server(), "certificate", str(folder), *options], timeout=CERTIFIED_S)
        if outcome.returncode:
            raise ServiceError(f"A certificate could not be created: {outcome.stderr.strip()}")
        return {file.name: file.read_text() for file in folder.iterdir()}


def read_ready(line: str) -> ServerReady:
    """Reads a ready line; raises ServiceError for any other."""
    try:
        ready = json.loads(line)
        if ready["event"] != "ready":
            raise ValueError
        addresses = {"http": ready["http"], "https": ready["https"], "lmtp": ready.get("lmtp")}
        sides = {key: Endpoint.parse(address) if address else None for key, address in addresses.items()}
    except (ValueError, KeyError, TypeError):
        raise ServiceError(f"The reference server reported `{line.strip()}` instead of its address.") from None
    return ServerReady(sides["http"], sides["https"], ready.get("authority"), sides["lmtp"])
