"""Tomcat alone: files by its default servlet, and a servlet of ours."""

from loadstone.model.service import Mechanism, ServiceRole
from loadstone.services import tomcat
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.mechanisms import PATH, SITE, made
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
        needs=form.needs,
        memory_mib=tomcat.MEMORY_MIB,
        mechanisms={Mechanism.STATIC: {}, Mechanism.SERVLET: {}},
        is_tuned=True,
    )


def program(site: Site, form: Distribution) -> Program:
    """As the user that starts it."""
    at = f"{site.folder}/{SITE}"
    is_servlet = site.mechanism is Mechanism.SERVLET
    own = {"PrintEnv": (PATH,)} if is_servlet else {}
    texts = {
        tomcat.CONFIGURATION: tomcat.server_xml(site, {"": at}),
        f"{SITE}/{tomcat.WEB_XML}": tomcat.web_xml(site.tuning, {STATUS: tomcat.STATUS_PAGE}, ("/",), own),
        f"{SITE}/WEB-INF/{tomcat.STATUS_PAGE}": tomcat.page(tomcat.STATUS_PAGE),
    }
    compiled = {f"{SITE}/WEB-INF/{SERVLET}": f"{at}/WEB-INF/classes"} if is_servlet else {}
    if form.source:
        compiled[f"{tomcat.PROGRAM}/{form.source}"] = f"{site.folder}/{tomcat.PROGRAM}"
    steps = [tomcat.folders(site), *made(site)]
    for name, into in compiled.items():
        texts[name] = tomcat.source(name.rpartition("/")[2])
        steps.append(tomcat.compiling(f"{site.folder}/{name}", form, into))
    return Program(tomcat.serving(site, {}, form), texts, steps, status=tomcat.SAYS, version=shell(form.version))
