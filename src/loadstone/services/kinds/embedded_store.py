"""The picture store of the reference server. It reports where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import build_plain_command


def build_program(site: Site) -> Program:
    """Over HTTP; its pictures are files below the folder."""
    return Program(build_plain_command("pictures", site.listen, site.threads, "--folder", f"{site.folder}/pictures"))


KIND = ServiceKind(EMBEDDED, ServiceRole.STORE, build_program)
