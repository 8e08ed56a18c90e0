"""The geocoder of the reference server. It reports where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import build_plain_command


def build_program(site: Site) -> Program:
    """Returns the geocoder over HTTP."""
    return Program(build_plain_command("geocoder", site.listen, site.threads))


KIND = ServiceKind(EMBEDDED, ServiceRole.GEOCODER, build_program)
