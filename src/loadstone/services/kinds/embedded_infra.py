"""Back-end simulator and file store of a tile in one server. It reports where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import build_plain_command


def build_program(site: Site) -> Program:
    """Returns the infrastructure server over HTTP."""
    return Program(build_plain_command("infra", site.listen, site.threads))


KIND = ServiceKind(EMBEDDED, ServiceRole.INFRA, build_program)
