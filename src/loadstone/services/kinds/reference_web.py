"""The reference server's web role. It is started by itself, since it says where it answers and who certifies it."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, WebSite
from loadstone.services.reference import web_command


def program(site: WebSite) -> Program:
    """All three sites, their files made as they are asked for."""
    return Program(web_command(site.listen, site.backend, site.threads, ["localhost"]))


KIND = ServiceKind(EMBEDDED, ServiceRole.WEB, program)
