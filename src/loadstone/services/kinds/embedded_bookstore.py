"""The bookstore of the reference server. It says where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import plain_command
from loadstone.topologies.bookstore import TABLES


def program(site: Site) -> Program:
    """Over HTTP."""
    options = TABLES.options(site.peers[ServiceRole.DATABASE], site.rows)
    return Program(plain_command("bookstore", site.listen, site.threads, *options))


KIND = ServiceKind(EMBEDDED, ServiceRole.BOOKSTORE, program)
