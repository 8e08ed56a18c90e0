"""The bookstore of the reference server. It says where it answers."""

from loadstone.services.kind import EMBEDDED, ApplicationSite, Program, ServiceKind, ServiceRole
from loadstone.services.reference import bookstore_command


def program(site: ApplicationSite) -> Program:
    """Over HTTP."""
    return Program(bookstore_command(site.listen, site.database, site.rows, site.threads))


KIND = ServiceKind(EMBEDDED, ServiceRole.BOOKSTORE, program)
