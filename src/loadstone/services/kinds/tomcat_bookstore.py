"""The bookstore in Java on Tomcat."""

from loadstone.model.service import ServiceRole
from loadstone.services import java, tomcat
from loadstone.services.kind import ApplicationSite, Program, ServiceKind

PAGES = (
    *("home", "new", "best", "item", "search", "results", "cart", "register", "buy", "confirm"),
    *("orders", "order", "admin"),
)
"""Below `/books/`; the audit is beside it."""


def program(site: ApplicationSite) -> Program:
    """One servlet for all pages."""
    patterns = (*(f"/books/{page}" for page in PAGES), "/audit")
    return java.program(site, java.Application("bookstore", "Bookstore", patterns))


KIND = ServiceKind(
    "tomcat",
    ServiceRole.BOOKSTORE,
    program,
    8080,
    needs=java.FORM.needs,
    memory_mib=tomcat.MEMORY_MIB,
    is_tuned=True,
)
