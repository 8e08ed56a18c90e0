"""The bookstore in Java on Tomcat."""

from loadstone.model.service import ServiceRole
from loadstone.services import java
from loadstone.services.kind import Program, Site

TOMCAT_BOOKSTORE_PAGES = (
    *("home", "new", "best", "item", "search", "results", "cart", "register", "buy", "confirm"),
    *("orders", "order", "admin"),
)
"""Below `/books/`; the audit is beside it."""


def build_program(site: Site) -> Program:
    """One servlet for all pages."""
    patterns = (*(f"/books/{page}" for page in TOMCAT_BOOKSTORE_PAGES), "/audit")
    return java.build_program(site, java.Application("bookstore", "Bookstore", patterns))


KIND = java.create_kind(ServiceRole.BOOKSTORE, build_program)
