"""Tomcat with each site as a web application of its own: pages in JSP, files by its default servlet."""

import json
from collections.abc import Mapping

from loadstone.model.service import ServiceRole
from loadstone.services import tomcat
from loadstone.services.declared import read_declared_pages
from loadstone.services.kind import SITE, Program, ServiceKind, Site
from loadstone.services.sites import build_file_commands
from loadstone.services.status import STATUS
from loadstone.services.unprivileged import build_shell_command

SITES = {"bank": ("/static/*",), "shop": ("/static/*", "/images/*"), "support": ("/static/*", "/downloads/*")}
"""Sites with what is a file of each."""
JSP_FRONT = "front"


def build_program(site: Site) -> Program:
    """Returns Tomcat with the JSP pages, which runs as the user that starts it."""
    properties = {"loadstone.backend": site.peers[ServiceRole.BACKEND], "loadstone.files": site.document_root}
    contexts = {"": f"{site.folder}/{JSP_FRONT}"} | {f"/{name}": f"{site.folder}/{SITE}/{name}" for name in SITES}
    kept_files = {f"/{name}": f"{site.kept_files}/{name}" for name in SITES} if site.kept_files else {}
    return Program(
        tomcat.build_start_command(site, properties),
        {tomcat.TOMCAT_CONFIGURATION: tomcat.render_server_xml(site, contexts, kept_files), **_applications(site)},
        [tomcat.build_folder_command(site), *build_file_commands(site)],
        status=tomcat.TOMCAT_STATUS_SOURCES,
        version=build_shell_command(tomcat.PACKAGED.version),
    )


def _applications(site: Site) -> dict[str, str]:
    texts = _application(site, JSP_FRONT, JSP_FRONT, (), {STATUS: tomcat.STATUS_PAGE})
    texts[f"{JSP_FRONT}/WEB-INF/{tomcat.STATUS_PAGE}"] = tomcat.read_page(tomcat.STATUS_PAGE)
    for name, patterns in SITES.items():
        texts |= _application(site, f"{SITE}/{name}", name, patterns)
    return texts


def _application(
    site: Site, folder: str, name: str, patterns: tuple[str, ...], extra: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Its page answers whatever is no file, and nothing more."""
    pages = {"/": f"{name}.jsp", **(extra or {})}
    texts = {f"{folder}/{tomcat.WEB_XML}": tomcat.render_web_xml(site, pages, patterns)}
    parts = ("page.jspf", "backend.jspf", "visitor.jspf", f"{name}.jsp")
    texts |= {f"{folder}/WEB-INF/{part}": tomcat.read_page(part) for part in parts}
    return texts | {f"{folder}/WEB-INF/facts.jspf": render_facts()}


def render_facts() -> str:
    """Returns the declarations of the workloads' pages as Java source."""
    rows = ",\n".join(
        f"    java.util.Map.entry({json.dumps(name)}, new Facts({page['bytes']}, {_texts(page['links'])}))"
        for name, page in read_declared_pages().items()
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
    build_program,
    8080,
    has_tls=True,
    reads_files=True,
    needs=tomcat.PACKAGED.needs,
    memory_mib=tomcat.TOMCAT_MEMORY_MIB,
    is_tuned=True,
    settings={tomcat.TOMCAT_NAME: tomcat.TOMCAT_SETTINGS},
)
