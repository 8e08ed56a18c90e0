"""The reference server's mail role."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import plain_command


def program(site: Site) -> Program:
    """Its mailboxes are files below the folder."""
    return Program(plain_command("mail", site.listen, site.threads, "--folder", f"{site.folder}/mail"))


KIND = ServiceKind(EMBEDDED, ServiceRole.MAIL, program)
