"""SQLite behind the reference server's database role."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.model.target import Endpoint
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import plain_command

DATA = "database.db"


def program(site: Site) -> Program:
    """One file, in a folder that is made by writing a note there."""
    command = plain_command("database", site.listen, site.threads, "--file", f"{site.folder}/{DATA}")
    return Program(command, {"database.txt": "The database is beside this file.\n"})


def url(endpoint: Endpoint) -> str:
    """What the application is told."""
    return f"role://{endpoint}"


KIND = ServiceKind(EMBEDDED, ServiceRole.DATABASE, program, url=url, data=DATA)
