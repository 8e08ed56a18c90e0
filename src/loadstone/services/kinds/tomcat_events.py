"""The site of events in Java on Tomcat; what its users send is made small by Java's own image library."""

from loadstone.model.errors import ServiceError
from loadstone.model.service import ServiceRole
from loadstone.services import java, tomcat
from loadstone.services.kind import Program, Site

TOMCAT_EVENTS_PAGES = (
    *("home", "login", "logout", "search", "tag", "event", "comments", "attendees", "attend", "person"),
    *("add-person", "add-event", "renew"),
)
"""Below `/events/`; the store's files too, and the audit is beside it."""
MAX_UPLOAD_BYTES = 2 << 20
"""As in the reference server."""
MEMCACHED = f"{tomcat.JARS}/spymemcached.jar"
"""By which it asks a memcached."""
EVENTS_NEEDS = {MEMCACHED: "libspymemcached-java"}
"""Files beside those of Tomcat, with their packages."""


def create_application(site: Site) -> java.Application:
    """Returns the plain servlet for all pages. Raises ServiceError where a store or a geocoder is missing."""
    required = ("geocoder",) if site.shared_folder else ("store", "geocoder")
    missing = [name for name in required if name not in site.peers]
    if missing:
        raise ServiceError(f"The Java events site needs a {' and a '.join(missing)}, but there is none.")
    patterns = (*(f"/events/{page}" for page in TOMCAT_EVENTS_PAGES), "/events/store/*", "/audit")
    if site.peers.get(ServiceRole.CACHE, "").startswith("redis:"):
        raise ServiceError("The Java events site caches responses internally or in memcached, not in redis.")
    optional = [name for name in ("geocoder", ServiceRole.STORE, ServiceRole.CACHE) if name in site.peers]
    properties = {f"loadstone.{name}": site.peers[name] for name in optional}
    properties |= {"loadstone.pictures": site.shared_folder} if site.shared_folder else {}
    return java.Application("events", "Events", patterns, properties, MAX_UPLOAD_BYTES, (MEMCACHED,))


def build_program(site: Site) -> Program:
    """One servlet for all pages; a store and a geocoder are elsewhere."""
    return java.build_program(site, create_application(site))


KIND = java.create_kind(ServiceRole.EVENTS, build_program, EVENTS_NEEDS)
