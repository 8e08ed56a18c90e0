"""The site of events of the reference server. It says where it answers."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import ApplicationSite, Program, ServiceKind
from loadstone.services.reference import events_words, plain_command


def program(site: ApplicationSite) -> Program:
    """Over HTTP. Pictures that users add are in its folder, unless a store keeps them."""
    own = [] if "store" in site.beside else ["--pictures", site.pictures or f"{site.folder}/pictures"]
    asked = [word for name, at in site.beside.items() for word in (f"--{name}", str(at))]
    kept = ["--cache", site.cache] if site.cache else []
    words = events_words(site.database, site.rows)
    return Program(plain_command("events", site.listen, site.threads, *words, *own, *asked, *kept))


KIND = ServiceKind(EMBEDDED, ServiceRole.EVENTS, program)
