"""The bookstore in Java on Tomcat, over PostgreSQL or MariaDB by JDBC; its files by the default servlet."""

import json
from dataclasses import replace
from importlib.resources import files
from urllib.parse import urlsplit

from loadstone.model.errors import ServiceError
from loadstone.model.machine import SERVER
from loadstone.services import tomcat
from loadstone.services.declared import declared_pages
from loadstone.services.kind import ApplicationSite, Program, ServiceKind, ServiceRole
from loadstone.services.reference import bookstore_words
from loadstone.services.sites import SITE
from loadstone.services.status import STATUS
from loadstone.services.unprivileged import shell

SOURCES = "java"
"""Folder of a machine's files with the application's sources."""
SERVLET = "Bookstore"
PAGES = (
    *("home", "new", "best", "item", "search", "results", "cart", "register", "buy", "confirm"),
    *("orders", "order", "admin"),
)
"""Below `/books/`; the audit is beside it."""
CONNECTIONS, STATEMENTS = 48, 200
"""Of the pool, and kept of each connection. The published test had 200 and 200; databases here allow 64 connections."""
JDBC = {"postgresql": "postgresql", "mysql": "mariadb"}
"""How Java calls what the application's other implementation calls so."""
FORM = replace(
    tomcat.WHOLE,
    path=(*tomcat.WHOLE.path, f"{tomcat.JARS}/postgresql.jar", f"{tomcat.JARS}/mariadb-java-client.jar"),
    api=f"{tomcat.WHOLE.api}:{tomcat.HOME}/lib/tomcat-jdbc.jar",
    needs={
        **tomcat.WHOLE.needs,
        f"{tomcat.JARS}/postgresql.jar": "libpostgresql-jdbc-java",
        f"{tomcat.JARS}/mariadb-java-client.jar": "libmariadb-java",
    },
)


def program(site: ApplicationSite) -> Program:
    """The database is filled by the reference server's own words; then as the user that starts it."""
    at = f"{site.folder}/{SITE}"
    patterns = (*(f"/books/{page}" for page in PAGES), "/audit")
    texts = {
        tomcat.CONFIGURATION: tomcat.server_xml(site, {"": at}),
        f"{SITE}/{tomcat.WEB_XML}": tomcat.web_xml(
            site.tuning, {STATUS: tomcat.STATUS_PAGE}, ("/",), {SERVLET: patterns}
        ),
        f"{SITE}/WEB-INF/{tomcat.STATUS_PAGE}": tomcat.page(tomcat.STATUS_PAGE),
        **sources(),
    }
    steps = [
        tomcat.folders(site),
        [SERVER, "fileset", "bookstore", "--sessions", "1", at],
        [SERVER, "bookstore", "--only-fill", *bookstore_words(site.database, site.rows)],
        tomcat.compiling(f"{site.folder}/{SOURCES}/*.java", FORM, f"{at}/WEB-INF/classes"),
    ]
    properties = {
        "loadstone.database": jdbc(site.database),
        "loadstone.pool": str(CONNECTIONS),
        "loadstone.statements": str(STATEMENTS),
    }
    command = tomcat.serving(site, properties, FORM)
    return Program(command, texts, steps, status=tomcat.SAYS, version=shell(FORM.version))


def jdbc(url: str) -> str:
    """A database's address as Java has it. Raises ServiceError for one that Java has no driver of."""
    parts = urlsplit(url)
    if parts.scheme not in JDBC:
        raise ServiceError("The bookstore in Java needs a database of its own: postgresql or mariadb.")
    return f"jdbc:{JDBC[parts.scheme]}://{parts.hostname}:{parts.port}{parts.path}?user={parts.username}"


def sources() -> dict[str, str]:
    """The application's files by their names below a machine's folder."""
    own = [file for file in files("loadstone.suts").joinpath("java").iterdir() if file.name.endswith(".java")]
    return {f"{SOURCES}/{file.name}": file.read_text() for file in own} | {f"{SOURCES}/Facts.java": facts()}


def facts() -> str:
    """What the workload declares of its pages, as Java."""
    rows = ",\n".join(
        f"        Map.entry({json.dumps(name.removeprefix('bookstore/'))}, "
        f"new Facts({page['bytes']}, List.of({json.dumps(page['links'])[1:-1]})))"
        for name, page in declared_pages().items()
        if name.startswith("bookstore/")
    )
    return (
        "// Made from the workload's declaration.\nimport java.util.List;\nimport java.util.Map;\n\n"
        "record Facts(int bytes, List<String> links) {\n"
        f"    private static final Map<String, Facts> ALL = Map.ofEntries(\n{rows});\n\n"
        "    static Facts of(String operation) {\n        return ALL.get(operation);\n    }\n}\n"
    )


KIND = ServiceKind(
    "tomcat", ServiceRole.BOOKSTORE, program, 8080, needs=FORM.needs, memory_mib=tomcat.MEMORY_MIB, is_tuned=True
)
