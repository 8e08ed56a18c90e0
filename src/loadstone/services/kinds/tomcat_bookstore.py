"""The bookstore in Java on Tomcat."""

from loadstone.model.service import ServiceRole
from loadstone.services import java
from loadstone.services.kind import Program, Site

BOOKSTORE_PATTERNS = (
    *(f"/books/{page}" for page in ("home", "new", "best", "item", "search", "results", "cart", "register", "buy")),
    *(f"/books/{page}" for page in ("confirm", "orders", "order", "admin")),
    "/audit",
)
"""All that the application answers; the rest are files."""
BOOKSTORE_APPLICATION = java.Application("bookstore", "Bookstore", BOOKSTORE_PATTERNS)


def build_program(site: Site) -> Program:
    """One servlet for all pages."""
    return java.build_program(site, BOOKSTORE_APPLICATION)


KIND = java.create_kind(ServiceRole.BOOKSTORE, build_program)
