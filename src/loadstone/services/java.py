"""Applications of ours in Java on Tomcat, over PostgreSQL or MariaDB by JDBC; their files by the default servlet."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from posixpath import basename
from urllib.parse import urlsplit

from loadstone.model.errors import ServiceError
from loadstone.model.service import ServiceRole
from loadstone.services import tomcat
from loadstone.services.declared import read_declared_pages
from loadstone.services.kind import SITE, Program, ServiceKind, Site
from loadstone.services.sites import build_file_command
from loadstone.services.status import STATUS
from loadstone.services.unprivileged import build_shell_command

SOURCES, COMMON = "java", "common"
"""Folder of a machine's files with an application's sources; that of ours with what all applications have in common."""
JAVA_CONNECTIONS, STATEMENTS = 48, 200
"""Of the pool, and kept of each connection. Published tests had 200 and 200; databases here allow 64 connections."""
LIBRARIES = "WEB-INF/lib"
CONVERTER = "/usr/share/tomcat-jakartaee-migration/lib/jakartaee-migration-1.0.6-shaded.jar"
JDBC = {"postgresql": "postgresql", "mysql": "mariadb"}
"""How Java calls what the applications' other implementation calls so."""
FORM = replace(
    tomcat.PACKAGED,
    path=(*tomcat.PACKAGED.path, f"{tomcat.JARS}/postgresql.jar", f"{tomcat.JARS}/mariadb-java-client.jar"),
    api=f"{tomcat.PACKAGED.api}:{tomcat.HOME}/lib/tomcat-jdbc.jar:{tomcat.HOME}/lib/tomcat-util.jar",
    needs={
        **tomcat.PACKAGED.needs,
        f"{tomcat.JARS}/postgresql.jar": "libpostgresql-jdbc-java",
        f"{tomcat.JARS}/mariadb-java-client.jar": "libmariadb-java",
    },
)


@dataclass(frozen=True)
class Application:
    """One of ours."""

    workload: str
    """Whose pages it has; also its folder below ours, and what the reference server calls it."""
    servlet: str
    patterns: Sequence[str]
    """What the servlet answers; the rest are files."""
    properties: Mapping[str, str] = field(default_factory=dict)
    max_upload_bytes: int = 0
    jars: tuple[str, ...] = ()
    """What it takes from the distribution beside that, by path."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Its texts by their names below a machine's folder; empty for a servlet of the folder `java`."""
    views: tuple[str, ...] = ()
    """Its pages in JSP, which are compiled when Tomcat starts."""
    libraries: tuple[str, ...] = ()
    """Jars of the distribution within the web application, by path."""
    converted_libraries: tuple[str, ...] = ()
    """Further ones, written for Java EE, that are converted to Jakarta EE first."""
    packages: tuple[str, ...] = ()
    """Packages of its libraries, whose versions are disclosed."""


def create_kind(
    role: ServiceRole,
    program: Callable[[Site], Program],
    needs: Mapping[str, str] | None = None,
    name: str = "tomcat",
) -> ServiceKind:
    """Returns the kind of an application on Tomcat. `needs`: files beside those of Tomcat, with their packages."""
    return ServiceKind(
        name,
        role,
        program,
        8080,
        has_tls=True,
        needs={**FORM.needs, **(needs or {})},
        memory_mib=tomcat.TOMCAT_MEMORY_MIB,
        is_tuned=True,
        settings={tomcat.TOMCAT_NAME: tomcat.TOMCAT_SETTINGS},
    )


def build_program(site: Site, application: Application, preparing: Sequence[list[str]] | None = None) -> Program:
    """Over a database that is filled already, or that `preparing` fills; as the user that starts it. Without
    `preparing` the application's files are written.
    """
    site_folder = f"{site.folder}/{SITE}"
    folder = f"{site_folder}/{LIBRARIES}"
    libraries = [f"{folder}/{basename(jar)}" for jar in (*application.libraries, *application.converted_libraries)]
    api = ":".join((FORM.api, *application.jars, *libraries))
    form = replace(FORM, path=(*FORM.path, *application.jars), api=api)
    servlets = {application.servlet: application.patterns}
    texts = {
        tomcat.TOMCAT_CONFIGURATION: tomcat.render_server_xml(site, {"": site_folder}),
        f"{SITE}/{tomcat.WEB_XML}": tomcat.render_web_xml(
            site,
            {STATUS: tomcat.STATUS_PAGE} | {f"/WEB-INF/{view}": view for view in application.views},
            ("/",),
            servlets,
            application.max_upload_bytes,
        ),
        f"{SITE}/WEB-INF/{tomcat.STATUS_PAGE}": tomcat.read_page(tomcat.STATUS_PAGE),
        **(application.files or read_sources(application.workload)),
    }
    files_command = build_file_command(application.workload, 1, site_folder)
    steps = [
        tomcat.build_folder_command(site),
        *([files_command] if preparing is None else preparing),
        *([build_libraries_command(application, folder)] if libraries else []),
        tomcat.build_compile_command(f"{site.folder}/{SOURCES}/*.java", form, f"{site_folder}/WEB-INF/classes"),
    ]
    properties = {
        "loadstone.database": format_jdbc(site.peers[ServiceRole.DATABASE]),
        "loadstone.pool": str(JAVA_CONNECTIONS),
        "loadstone.statements": str(STATEMENTS),
        **application.properties,
    }
    command = tomcat.build_start_command(site, properties, form)
    version = build_shell_command("; ".join([FORM.version, *_list_versions(application)]))
    return Program(command, texts, steps, status=tomcat.TOMCAT_STATUS_SOURCES, version=version)


def _list_versions(application: Application) -> list[str]:
    """Shell commands that print each package of the libraries with its version, where a package database exists."""
    query = f"dpkg-query --show --showformat='${{Package}} ${{Version}}\\n' {' '.join(application.packages)}"
    return [f"{query} 2> /dev/null || true"] if application.packages else []


def build_libraries_command(application: Application, folder: str) -> list[str]:
    """Copies an application's libraries into a folder, and converts those that need it."""
    source = f"{folder}.javax"
    convert = f"{tomcat.JAVA} {tomcat.QUICK} -jar {CONVERTER} {source} {folder} 2>&1"
    return build_shell_command(
        f"mkdir -p {folder} {source} && cp -L {' '.join(application.libraries)} {folder} && "
        f"cp -L {' '.join(application.converted_libraries)} {source} && {convert}"
    )


def format_jdbc(url: str) -> str:
    """A database's address as Java has it. Raises ServiceError for one that Java has no driver of."""
    parts = urlsplit(url)
    if parts.scheme not in JDBC:
        raise ServiceError("Java applications need a separate database. Use postgresql or mariadb.")
    return f"jdbc:{JDBC[parts.scheme]}://{parts.hostname}:{parts.port}{parts.path}?user={parts.username}"


def read_sources(workload: str) -> dict[str, str]:
    """An application's files by their names below a machine's folder."""
    texts = {
        f"{SOURCES}/{name}": text for folder in (COMMON, workload) for name, text in read_java("java", folder).items()
    }
    return texts | {f"{SOURCES}/Facts.java": render_facts(workload)}


def read_java(*folder: str) -> dict[str, str]:
    """Sources in Java of a folder of ours, by name."""
    return {
        file.name: file.read_text()
        for file in files("loadstone.suts").joinpath(*folder).iterdir()
        if file.name.endswith(".java")
    }


def render_facts(workload: str) -> str:
    """Returns the declarations of a workload's pages as Java source."""
    rows = ",\n".join(
        f"        Map.entry({json.dumps(name.partition('/')[2])}, "
        f"new Facts({page['bytes']}, List.of({json.dumps(page['links'])[1:-1]})))"
        for name, page in read_declared_pages().items()
        if name.partition("/")[0] == workload
    )
    return (
        "// Made from the workload's declaration.\nimport java.util.List;\nimport java.util.Map;\n\n"
        "record Facts(int bytes, List<String> links) {\n"
        f"    private static final Map<String, Facts> ALL = Map.ofEntries(\n{rows});\n\n"
        "    static Facts of(String operation) {\n        return ALL.get(operation);\n    }\n}\n"
    )
