"""Tomcat alone: files by its default servlet, and a servlet of ours."""

from loadstone.model.service import Mechanism, ServiceRole
from loadstone.services import tomcat
from loadstone.services.kind import SITE, Program, ServiceKind, Site
from loadstone.services.mechanisms import PATH, build_commands
from loadstone.services.status import STATUS
from loadstone.services.tomcat import Distribution
from loadstone.services.unprivileged import shell

SERVLET = "PrintEnv.java"


def kind_of(name: str, form: Distribution) -> ServiceKind:
    """The web server in one of its forms."""
    return ServiceKind(
        name,
        ServiceRole.WEBSERVER,
        lambda site: program(site, form),
        8080,
        has_tls=True,
        reads_files=True,
        needs=form.needs,
        memory_mib=tomcat.MEMORY_MIB,
        mechanisms={Mechanism.STATIC: {}, Mechanism.SERVLET: {}},
        is_tuned=True,
        settings={tomcat.NAME: tomcat.SETTINGS},
    )


def program(site: Site, form: Distribution) -> Program:
    """As the user that starts it."""
    site_folder = f"{site.folder}/{SITE}"
    is_servlet = site.mechanism is Mechanism.SERVLET
    servlets = {"PrintEnv": (PATH,)} if is_servlet else {}
    texts = {
        tomcat.CONFIGURATION: tomcat.server_xml(site, {"": site_folder}, {"": site.kept_files}),
        f"{SITE}/{tomcat.WEB_XML}": tomcat.web_xml(site, {STATUS: tomcat.STATUS_PAGE}, ("/",), servlets),
        f"{SITE}/WEB-INF/{tomcat.STATUS_PAGE}": tomcat.page(tomcat.STATUS_PAGE),
    }
    sources = {f"{SITE}/WEB-INF/{SERVLET}": f"{site_folder}/WEB-INF/classes"} if is_servlet else {}
    if form.source:
        sources[f"{tomcat.PROGRAM}/{form.source}"] = f"{site.folder}/{tomcat.PROGRAM}"
    steps = [tomcat.folders(site), *build_commands(site)]
    for name, into in sources.items():
        texts[name] = tomcat.source(name.rpartition("/")[2])
        steps.append(tomcat.compiling(f"{site.folder}/{name}", form, into))
    return Program(
        tomcat.serving(site, {}, form), texts, steps, status=tomcat.STATUS_SOURCES, version=shell(form.version)
    )
