"""The idle server of the reference server. It reports where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import plain_command


def program(site: Site) -> Program:
    """Heartbeats over HTTP."""
    return Program(plain_command("idle", site.listen, site.threads))


KIND = ServiceKind(EMBEDDED, ServiceRole.IDLE, program)
