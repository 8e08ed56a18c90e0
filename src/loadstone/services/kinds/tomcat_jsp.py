"""Tomcat with each site as a web application of its own: pages in JSP, files by its default servlet."""

import json
from collections.abc import Mapping

from loadstone.model.service import ServiceRole
from loadstone.services import tomcat
from loadstone.services.declared import declared_pages
from loadstone.services.kind import SITE, Program, ServiceKind, Site
from loadstone.services.sites import file_commands
from loadstone.services.status import STATUS
from loadstone.services.unprivileged import shell

SITES = {"bank": ("/static/*",), "shop": ("/static/*", "/images/*"), "support": ("/static/*", "/downloads/*")}
"""Sites with what is a file of each."""
FRONT = "front"


def program(site: Site) -> Program:
    """As the user that starts it."""
    properties = {"loadstone.backend": site.peers[ServiceRole.BACKEND], "loadstone.files": site.document_root}
    contexts = {"": f"{site.folder}/{FRONT}"} | {f"/{name}": f"{site.folder}/{SITE}/{name}" for name in SITES}
    kept_files = {f"/{name}": f"{site.kept_files}/{name}" for name in SITES} if site.kept_files else {}
    return Program(
        tomcat.serving(site, properties),
        {tomcat.CONFIGURATION: tomcat.server_xml(site, contexts, kept_files), **_applications(site)},
        [tomcat.folders(site), *file_commands(site)],
        status=tomcat.STATUS_SOURCES,
        version=shell(tomcat.PACKAGED.version),
    )


def _applications(site: Site) -> dict[str, str]:
    texts = _application(site, FRONT, FRONT, (), {STATUS: tomcat.STATUS_PAGE})
    texts[f"{FRONT}/WEB-INF/{tomcat.STATUS_PAGE}"] = tomcat.page(tomcat.STATUS_PAGE)
    for name, patterns in SITES.items():
        texts |= _application(site, f"{SITE}/{name}", name, patterns)
    return texts


def _application(
    site: Site, folder: str, name: str, patterns: tuple[str, ...], extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Its page answers whatever is no file, and nothing more."""
    pages = {"/": f"{name}.jsp", **(extra or {})}
    texts = {f"{folder}/{tomcat.WEB_XML}": tomcat.web_xml(site, pages, patterns)}
    parts = ("page.jspf", "backend.jspf", "visitor.jspf", f"{name}.jsp")
    texts |= {f"{folder}/WEB-INF/{part}": tomcat.page(part) for part in parts}
    return texts | {f"{folder}/WEB-INF/facts.jspf": facts()}


def facts() -> str:
    """What workloads declare of their pages, as Java."""
    rows = ",\n".join(
        f"    java.util.Map.entry({json.dumps(name)}, new Facts({page['bytes']}, {_texts(page['links'])}))"
        for name, page in declared_pages().items()
    )
    return (
        "<%-- Made from the workloads' declarations. --%>\n<%!\nrecord Facts(int bytes, String... links) {\n}\n\n"
        f"static final java.util.Map<String, Facts> FACTS = java.util.Map.ofEntries(\n{rows});\n%>\n"
    )


def _texts(links: object) -> str:
    return f"new String[] {{{json.dumps(links)[1:-1]}}}"


KIND = ServiceKind(
    "tomcat-jsp",
    ServiceRole.WEB,
    program,
    8080,
    has_tls=True,
    reads_files=True,
    needs=tomcat.PACKAGED.needs,
    memory_mib=tomcat.MEMORY_MIB,
    is_tuned=True,
    settings={tomcat.NAME: tomcat.SETTINGS},
)
