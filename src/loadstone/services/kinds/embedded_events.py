"""The site of events of the reference server. It says where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.reference import build_plain_command
from loadstone.topologies.events import EVENTS_TABLES


def build_program(site: Site) -> Program:
    """Returns the site of events over HTTP. Pictures that users add are in its folder, unless a store keeps them."""
    options = EVENTS_TABLES.build_options(site.peers[ServiceRole.DATABASE], site.rows)
    if ServiceRole.STORE not in site.peers:
        options += ["--pictures", site.shared_folder or f"{site.folder}/pictures"]
    optional = (name for name in ("geocoder", ServiceRole.STORE, ServiceRole.CACHE) if name in site.peers)
    options += [argument for name in optional for argument in (f"--{name}", site.peers[name])]
    return Program(build_plain_command("events", site.listen, site.threads, *options))


KIND = ServiceKind(EMBEDDED, ServiceRole.EVENTS, build_program)
