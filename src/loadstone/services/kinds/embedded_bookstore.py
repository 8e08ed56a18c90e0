"""The bookstore of the reference server. It says where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import build_plain_command
from loadstone.topologies.bookstore import BOOKSTORE_TABLES


def build_program(site: Site) -> Program:
    """Returns the bookstore over HTTP."""
    options = BOOKSTORE_TABLES.build_options(site.peers[ServiceRole.DATABASE], site.rows)
    return Program(build_plain_command("bookstore", site.listen, site.threads, *options))


KIND = ServiceKind(EMBEDDED, ServiceRole.BOOKSTORE, build_program)
