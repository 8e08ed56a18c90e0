"""The bookstore of the reference server. It says where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import ApplicationSite, Program, ServiceKind
from loadstone.services.reference import bookstore_command


def program(site: ApplicationSite) -> Program:
    """Over HTTP."""
    return Program(bookstore_command(site.listen, site.database, site.rows, site.threads))


KIND = ServiceKind(EMBEDDED, ServiceRole.BOOKSTORE, program)
