"""The back-end simulator by itself. It says where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import build_backend_command


def build_program(site: Site) -> Program:
    """Returns the back-end simulator over HTTP."""
    return Program(build_backend_command(site.listen, site.threads))


KIND = ServiceKind(EMBEDDED, ServiceRole.BACKEND, build_program)
