"""How users reach a system that others set up, and the options of commands that visit it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from loadstone.model.files import read_text
from loadstone.model.target import Addresses, Identity, Target

AUTHORITY_HELP = "CA certificate to trust (PEM file). Default: the authorities of this host."
CERTIFICATE_HELP = "Client certificate (PEM file) for a target that requires one."
KEY_HELP = "Private key of the client certificate (PEM file). Default: the key in the file of --cert."

Authority = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help=AUTHORITY_HELP),
]
Insecure = Annotated[bool, typer.Option("--insecure", help="Skip certificate verification.")]
Certificate = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help=CERTIFICATE_HELP),
]
Key = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help=KEY_HELP,
    ),
]


@dataclass(frozen=True)
class Access:
    """How users reach a system that others set up."""

    authority: Path | None = None
    verify: bool = True
    certificate: Path | None = None
    key: Path | None = None
    addresses: Addresses = Addresses.ALL
    source_addresses: int | None = None

    def target(self, urls: list[str]) -> Target:
        """The system at these addresses; raises UsageError."""
        pem = read_text(self.authority) if self.authority else None
        return replace(
            Target.parse(urls, pem, self.verify),
            identity=Identity.from_files(self.certificate, self.key),
            addresses=self.addresses,
            source_addresses=self.source_addresses,
        )
