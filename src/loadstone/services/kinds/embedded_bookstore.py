"""The bookstore of the reference server. It says where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import bookstore_command


def program(site: Site) -> Program:
    """Over HTTP."""
    return Program(bookstore_command(site.listen, site.peers[ServiceRole.DATABASE], site.rows, site.threads))


KIND = ServiceKind(EMBEDDED, ServiceRole.BOOKSTORE, program)
