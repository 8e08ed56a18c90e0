"""Reading the file that says which hosts there are."""

import re
from pathlib import Path

from loadstone.model.fleet import BackEnd, FleetSpec
from loadstone.model.machine import PUBLIC
from loadstone.model.reading import Document

HOST_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
"""What hosts may be called: names are parts of files' names, and of the cluster's resources."""


def read_fleet(file: Path) -> FleetSpec:
    """A fleet from its file; raises StudyError with all that is wrong in it."""
    document = Document.read(file)
    spec = document.take((), FleetSpec, document.content)
    if spec is not None:
        _check(document, spec)
    document.finish()
    assert spec is not None
    return spec


def _check(document: Document, spec: FleetSpec) -> None:
    owners: dict[str, str] = {}
    for name, host in spec.hosts.items():
        place = ("hosts", name)
        if not HOST_NAME.fullmatch(name):
            document.note_problem(place, "is not a valid host name", "Use lower-case letters, digits and hyphens.")
        if PUBLIC not in host.addresses:
            document.note_problem((*place, "addresses"), f"lacks `{PUBLIC}`", "Add the address that other hosts use.")
            continue
        owner = owners.setdefault(host.address, name)
        if owner != name and spec.back_end is not BackEnd.LOCAL:
            document.note_problem(
                (*place, "addresses"), f"is also the address of {owner}", "Each host needs its own address."
            )
