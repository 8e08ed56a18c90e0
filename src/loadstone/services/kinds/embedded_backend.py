"""The back-end simulator by itself. It says where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import backend_command


def program(site: Site) -> Program:
    """Over HTTP."""
    return Program(backend_command(site.listen, site.threads))


KIND = ServiceKind(EMBEDDED, ServiceRole.BACKEND, program)
