"""Tomcat alone: files by its default servlet, and a servlet of ours."""

from importlib.resources import files

from loadstone.model.service import Mechanism
from loadstone.services import tomcat
from loadstone.services.kind import MechanismSite, Program, ServiceKind, ServiceRole
from loadstone.services.mechanisms import PATH, SITE, made
from loadstone.services.status import STATUS
from loadstone.services.unprivileged import shell

SOURCE = "PrintEnv.java"
COMPILER = "/usr/share/java/eclipse-jdt-core.jar"
"""Tomcat compiles its pages with it, so it is where Tomcat is."""
COMPILE = "org.eclipse.jdt.internal.compiler.batch.Main"


def program(site: MechanismSite) -> Program:
    """As the user that starts it."""
    at = f"{site.folder}/{SITE}"
    is_servlet = site.mechanism is Mechanism.SERVLET
    own = {"PrintEnv": PATH} if is_servlet else {}
    texts = {
        tomcat.CONFIGURATION: tomcat.server_xml(site, {"": at}),
        f"{SITE}/{tomcat.WEB_XML}": tomcat.web_xml(site.tuning, {STATUS: tomcat.STATUS_PAGE}, ("/",), own),
        f"{SITE}/WEB-INF/{tomcat.STATUS_PAGE}": tomcat.page(tomcat.STATUS_PAGE),
    }
    if is_servlet:
        texts[f"{SITE}/WEB-INF/{SOURCE}"] = files("loadstone.suts").joinpath("servlet", SOURCE).read_text()
    compiled = [_compiling(f"{at}/WEB-INF")] if is_servlet else []
    steps = [tomcat.folders(site), *made(site), *compiled]
    return Program(tomcat.serving(site, {}), texts, steps, status=tomcat.SAYS, version=shell(tomcat.VERSION))


def _compiling(folder: str) -> list[str]:
    path = f"{tomcat.HOME}/lib/servlet-api.jar"
    words = f"{tomcat.JAVA} -cp '/usr/share/java/*' {COMPILE} -proc:none --release {tomcat.JAVA_LEVEL} -cp {path}"
    return shell(f"mkdir -p {folder}/classes && {words} -d {folder}/classes {folder}/{SOURCE}")


KIND = ServiceKind(
    "tomcat",
    ServiceRole.WEBSERVER,
    program,
    8080,
    needs=tomcat.NEEDS,
    memory_mib=tomcat.MEMORY_MIB,
    mechanisms={Mechanism.STATIC: {}, Mechanism.SERVLET: {}},
    is_tuned=True,
)
