"""The echo role of the reference server. It reports where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import build_plain_command


def make_program(site: Site) -> Program:
    """Echoes over TCP."""
    return Program(build_plain_command("echo", site.listen, site.threads))


KIND = ServiceKind(EMBEDDED, ServiceRole.ECHO, make_program)
