"""Applications of ours in Java with Spring, JPA and JSP on Tomcat: controllers by Spring MVC, data by EclipseLink."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

from loadstone.services import java, tomcat
from loadstone.services.java import Application
from loadstone.services.kind import SITE

JPA_NAME = "tomcat-jpa"
PERSISTENCE = "persistence.xml"
JPA_LIBRARIES = tuple(
    f"{tomcat.JARS}/{name}.jar"
    for name in (
        *(
            f"spring3-{part}"
            for part in ("core", "beans", "context", "expression", "aop", "transaction", "jdbc", "orm")
        ),
        *("aopalliance", "commons-logging", "eclipselink", "org.eclipse.persistence.jpa.jpql"),
        *("eclipselink-jpa-2.1-spec", "geronimo-jta-1.2-spec"),
    )
)
SERVLET_LIBRARIES = (f"{tomcat.JARS}/spring3-web.jar", f"{tomcat.JARS}/spring3-web.servlet.jar")
"""Those that call servlets, by the names of Java EE. Tomcat 10 has the names of Jakarta EE."""
JPA_NEEDS = {
    java.CONVERTER: "tomcat-jakartaee-migration",
    f"{tomcat.JARS}/spring3-web.servlet.jar": "libspring-web-servlet-java",
    f"{tomcat.JARS}/spring3-orm.jar": "libspring-orm-java",
    f"{tomcat.JARS}/eclipselink.jar": "libeclipselink-java",
}


def create_application(plain: Application, shared_sources: Sequence[str]) -> Application:
    """Returns the application that answers what a plain servlet does. The servlet's sources `shared_sources` are part
    of it, and its front controller has the servlet's name.
    """
    workload = plain.workload
    servlet_sources = java.read_java("java", workload)
    shared = java.read_java("java", java.COMMON) | {name: servlet_sources[name] for name in shared_sources}
    texts = {f"{java.SOURCES}/{name}": text for name, text in shared.items()}
    texts[f"{java.SOURCES}/Facts.java"] = java.render_facts(workload)
    ours = files("loadstone.suts").joinpath("jpa")
    every = [file for folder in (java.COMMON, workload) for file in ours.joinpath(folder).iterdir()]
    texts |= {f"{locate_file(file.name)}/{file.name}": file.read_text() for file in every if file.is_file()}
    views = tuple(sorted(file.name for file in every if file.name.endswith(".jsp")))
    return replace(
        plain,
        files=texts,
        views=views,
        libraries=JPA_LIBRARIES,
        converted_libraries=SERVLET_LIBRARIES,
        packages=("libspring-web-servlet-java", "libeclipselink-java"),
    )


def locate_file(name: str) -> str:
    """Returns the folder of a file below a machine's: of sources, of pages, or of what persistence reads."""
    if name.endswith(".java"):
        return java.SOURCES
    return f"{SITE}/WEB-INF/classes/META-INF" if name == PERSISTENCE else f"{SITE}/WEB-INF"
