"""SQLite behind the reference server's database role."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.model.target import Endpoint
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import build_plain_command

EMBEDDED_DATABASE_DATA = "database.db"


def build_program(site: Site) -> Program:
    """One file, in a folder that is made by writing a note there."""
    command = build_plain_command(
        "database", site.listen, site.threads, "--file", f"{site.folder}/{EMBEDDED_DATABASE_DATA}"
    )
    return Program(command, {"database.txt": "The database is beside this file.\n"})


def format_url(endpoint: Endpoint) -> str:
    """Returns the database's address for the application."""
    return f"role://{endpoint}"


KIND = ServiceKind(EMBEDDED, ServiceRole.DATABASE, build_program, url=format_url, data=EMBEDDED_DATABASE_DATA)
