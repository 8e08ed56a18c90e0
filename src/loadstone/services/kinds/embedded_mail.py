"""The reference server's mail role."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import build_plain_command


def build_program(site: Site) -> Program:
    """Returns the mail server, whose mailboxes are files below the folder."""
    options = ("--listen-lmtp", f"{site.listen}:0", "--folder", f"{site.folder}/mail")
    return Program(build_plain_command("mail", site.listen, site.threads, *options))


KIND = ServiceKind(EMBEDDED, ServiceRole.MAIL, build_program)
