"""The dealership of the reference server. It reports where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import build_dealership_command


def build_program(site: Site) -> Program:
    """Returns the dealership over HTTP."""
    database = site.peers[ServiceRole.DATABASE]
    return Program(build_dealership_command(site.listen, database, site.injection_rate, site.threads))


KIND = ServiceKind(EMBEDDED, ServiceRole.DEALERSHIP, build_program)
