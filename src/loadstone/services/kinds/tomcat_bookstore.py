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


def build_program(site: Site) -> Program:
    """One servlet for all pages."""
    return java.build_program(site, java.Application("bookstore", "Bookstore", BOOKSTORE_PATTERNS))


KIND = java.create_kind(ServiceRole.BOOKSTORE, build_program)
