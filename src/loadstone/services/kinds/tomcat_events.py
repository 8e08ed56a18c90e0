"""The site of events in Java on Tomcat; what its users send is made small by Java's own image library."""

from loadstone.model.errors import ServiceError
from loadstone.model.service import ServiceRole
from loadstone.services import java, tomcat
from loadstone.services.kind import ApplicationSite, Program, ServiceKind

PAGES = (
    *("home", "login", "logout", "search", "tag", "event", "comments", "attendees", "attend", "person"),
    *("add-person", "add-event", "renew"),
)
"""Below `/events/`; the store's files too, and the audit is beside it."""
MOST_UPLOAD_BYTES = 2 << 20
"""As in the reference server."""
MEMCACHED = f"{tomcat.JARS}/spymemcached.jar"
"""By which it asks a memcached."""


def program(site: ApplicationSite) -> Program:
    """One servlet for all pages; a store and a geocoder are elsewhere."""
    needed = ("geocoder",) if site.pictures else ("store", "geocoder")
    missing = [name for name in needed if name not in site.beside]
    if missing:
        raise ServiceError(f"The site of events in Java asks a {' and a '.join(missing)}, and there is none.")
    patterns = (*(f"/events/{page}" for page in PAGES), "/events/store/*", "/audit")
    if site.cache.startswith("redis:"):
        raise ServiceError("The site of events in Java keeps answers within or in memcached, not in redis.")
    asked = {f"loadstone.{name}": str(at) for name, at in site.beside.items()}
    asked |= {"loadstone.pictures": site.pictures} if site.pictures else {}
    asked |= {"loadstone.cache": site.cache} if site.cache else {}
    return java.program(site, java.Application("events", "Events", patterns, asked, MOST_UPLOAD_BYTES, (MEMCACHED,)))


KIND = ServiceKind(
    "tomcat",
    ServiceRole.EVENTS,
    program,
    8080,
    needs={**java.FORM.needs, MEMCACHED: "libspymemcached-java"},
    memory_mib=tomcat.MEMORY_MIB,
    is_tuned=True,
)
