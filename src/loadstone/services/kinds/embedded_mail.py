"""The reference server's mail role."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import build_plain_command


def build_program(site: Site) -> Program:
    """Returns the mail server, whose mailboxes are files below the folder."""
    return Program(build_plain_command("mail", site.listen, site.threads, "--folder", f"{site.folder}/mail"))


KIND = ServiceKind(EMBEDDED, ServiceRole.MAIL, build_program)
