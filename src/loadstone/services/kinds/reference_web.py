"""The reference server's web role. It reports where it answers and the authority of its certificate."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import build_web_command


def build_program(site: Site) -> Program:
    """All three sites, their files made as they are asked for."""
    command = build_web_command(site.listen, site.peers[ServiceRole.BACKEND], site.threads, site.names)
    if site.shared_folder:
        command += ["--store-folder", site.shared_folder]
    elif ServiceRole.STORE in site.peers:
        command += ["--store", site.peers[ServiceRole.STORE]]
    return Program([*command, "--certificates", site.certificates] if site.certificates else command)


KIND = ServiceKind(EMBEDDED, ServiceRole.WEB, build_program, has_tls=True)
