"""The idle server of the reference server. It reports where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import build_plain_command


def build_program(site: Site) -> Program:
    """Heartbeats over HTTP."""
    return Program(build_plain_command("idle", site.listen, site.threads))


KIND = ServiceKind(EMBEDDED, ServiceRole.IDLE, build_program)
