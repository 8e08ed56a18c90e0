"""Tomcat alone: files by its default servlet, and a servlet of ours."""

from loadstone.model.service import Mechanism, ServiceRole
from loadstone.services import tomcat
from loadstone.services.kind import SITE, Program, ServiceKind, Site
from loadstone.services.mechanisms import MECHANISMS_PATH, build_commands
from loadstone.services.status import STATUS
from loadstone.services.tomcat import TomcatForm
from loadstone.services.unprivileged import build_shell_command

SERVLET = "PrintEnv.java"


def build_kind(name: str, form: TomcatForm) -> ServiceKind:
    """The web server in one of its forms."""
    return ServiceKind(
        name,
        ServiceRole.WEBSERVER,
        lambda site: build_program(site, form),
        8080,
        has_tls=True,
        reads_files=True,
        needs=form.needs,
        memory_mib=tomcat.TOMCAT_MEMORY_MIB,
        mechanisms={Mechanism.STATIC: {}, Mechanism.SERVLET: {}},
        is_tuned=True,
        settings={tomcat.TOMCAT_NAME: tomcat.TOMCAT_SETTINGS},
    )


def build_program(site: Site, form: TomcatForm) -> Program:
    """Returns Tomcat, which runs as the user that starts it."""
    site_folder = f"{site.folder}/{SITE}"
    is_servlet = site.mechanism is Mechanism.SERVLET
    servlets = {"PrintEnv": (MECHANISMS_PATH,)} if is_servlet else {}
    texts = {
        tomcat.TOMCAT_CONFIGURATION: tomcat.render_server_xml(site, {"": site_folder}, {"": site.kept_files}),
        f"{SITE}/{tomcat.WEB_XML}": tomcat.render_web_xml(site, {STATUS: tomcat.STATUS_PAGE}, ("/",), servlets),
        f"{SITE}/WEB-INF/{tomcat.STATUS_PAGE}": tomcat.read_page(tomcat.STATUS_PAGE),
    }
    sources = {f"{SITE}/WEB-INF/{SERVLET}": f"{site_folder}/WEB-INF/classes"} if is_servlet else {}
    if form.source:
        sources[f"{tomcat.TOMCAT_PROGRAM}/{form.source}"] = f"{site.folder}/{tomcat.TOMCAT_PROGRAM}"
    steps = [tomcat.build_folder_command(site), *build_commands(site)]
    for name, into in sources.items():
        texts[name] = tomcat.read_source(name.rpartition("/")[2])
        steps.append(tomcat.build_compile_command(f"{site.folder}/{name}", form, into))
    return Program(
        tomcat.build_start_command(site, {}, form),
        texts,
        steps,
        status=tomcat.TOMCAT_STATUS_SOURCES,
        version=build_shell_command(form.version),
    )
