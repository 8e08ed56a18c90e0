"""Tomcat as an ordinary process with all its files in one folder, as many web applications as are asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal
from xml.sax.saxutils import quoteattr

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.model.service import Tuning
from loadstone.services.kind import Site
from loadstone.services.settings import resolve_settings
from loadstone.services.status import STATUS, StatusSource, read_json
from loadstone.services.unprivileged import build_shell_command

HOME = "/usr/share/tomcat10"
JAVA = "/usr/bin/java"
JARS = "/usr/share/java"
JAVA_LEVEL = "17"
"""Of pages and programs: Debian 12's Java."""
COMPILER = "org.eclipse.jdt.internal.compiler.batch.Main"
"""Tomcat compiles its pages with it, so it is where Tomcat is."""
FIRST_COMPILER = "-XX:TieredStopAtLevel=1"
"""Java's first compiler alone, which does not optimize."""
QUICK = f"{FIRST_COMPILER} -XX:+UseSerialGC"
"""Options of a Java machine that runs for a moment: half the processor time of the usual ones."""
TOMCAT_CONFIGURATION = "conf/server.xml"
TOMCAT_PROGRAM = "program"
"""Folder of a machine's files with a program of ours."""
WEB_XML = "WEB-INF/web.xml"
STATUS_PAGE = "status.jsp"
TOMCAT_STATUS_SOURCES = {"tomcat": StatusSource(STATUS, read_json)}
TOMCAT_LOG = (
    '        <Valve className="org.apache.catalina.valves.AccessLogValve" directory="logs" prefix="access" '
    'suffix=".txt" pattern="%h %l %u %t &quot;%r&quot; %s %b"/>\n'
)
"""As in the server.xml that comes with it."""
TOMCAT_MEMORY_MIB = 1024
"""Of a machine of its own: Java takes some 250 MiB before its first request."""


@dataclass(frozen=True)
class TomcatForm:
    """In which of the distribution's forms Tomcat is run."""

    path: tuple[str, ...]
    """Its jars."""
    main: tuple[str, ...]
    """What is started."""
    api: str
    """The jar with what servlets are compiled against."""
    needs: Mapping[str, str]
    source: str = ""
    """A program of ours that is `main`, compiled first."""

    @property
    def version(self) -> str:
        """Shell words that print what is used."""
        jars = ":".join([*self.path, f"{HOME}/lib/catalina.jar", f"{HOME}/lib/tomcat-util.jar"])
        command = f"{JAVA} -cp {jars} org.apache.catalina.util.ServerInfo"
        return f"{command} | sed -n -e 's/^Server version: *//p' -e 's/^JVM Version: */Java /p'"


PACKAGED = TomcatForm(
    (f"{HOME}/bin/bootstrap.jar", f"{HOME}/bin/tomcat-juli.jar"),
    ("org.apache.catalina.startup.Bootstrap", "start"),
    f"{HOME}/lib/servlet-api.jar",
    {f"{HOME}/bin/bootstrap.jar": "tomcat10-common", JAVA: "default-jre-headless"},
)
"""The package that has all of it."""
EMBEDDED_JARS = TomcatForm(
    (
        *(f"{JARS}/tomcat10-embed-{part}.jar" for part in ("core", "el", "jasper")),
        *(f"{JARS}/{name}.jar" for name in ("tomcat10-annotations-api", "eclipse-jdt-core")),
    ),
    ("Embedding",),
    f"{JARS}/tomcat10-embed-core.jar",
    {
        f"{JARS}/tomcat10-embed-core.jar": "libtomcat10-embed-java",
        f"{JARS}/tomcat10-annotations-api.jar": "libtomcat10-java",
        JAVA: "default-jre-headless",
    },
    "Embedding.java",
)
"""The jars for programs that have it within themselves, and such a program."""


JAVA_BESIDE_HEAP_MIB = 256
"""Allowance for classes, compiled code, stacks and buffers of a Java server beside its heap, MiB."""


class TomcatSettings(Section):
    """Settings of Tomcat and of its Java machine."""

    heap_mib: int | None = Field(
        default=None, ge=16, le=1 << 20, description="heap of the Java machine, of one size, MiB; unset: Java decides"
    )
    collector: Literal["parallel", "serial", "g1", "z"] | None = Field(
        default=None, description="garbage collector; unset: Java decides"
    )
    collects_when_asked: bool = Field(default=True, description="whether programs may ask for a collection")
    large_pages: bool = Field(default=False, description="whether the heap is in huge pages, which the host must have")
    optimizes: bool = Field(
        default=True,
        description="whether Java optimizes hot code; without it a start takes less processor time, and a request more",
    )
    threads: int = Field(ge=1, le=100_000, description="requests at once, at most")
    connections: int = Field(ge=1, le=1_000_000, description="open connections at most")
    requests_each: int = Field(ge=-1, description="requests after which a connection is closed; -1 for never")
    cache_kib: int = Field(ge=0, le=1 << 30, description="memory for cached files, KiB")
    cache_ms: int = Field(ge=0, description="milliseconds after which a cached file is looked at again")
    recompiles: bool = Field(description="whether pages are compiled again when their sources change")
    access_log: bool = Field(description="whether each request is logged")

    @property
    def least_memory_mib(self) -> int:
        """Memory that a machine needs for the heap and what Java has beside it, MiB; 0 where Java sizes the heap."""
        return self.heap_mib + JAVA_BESIDE_HEAP_MIB if self.heap_mib else 0

    def list_options(self, processors: int) -> list[str]:
        """Options of the Java machine on so many processors."""
        heap = [f"-Xms{self.heap_mib}m", f"-Xmx{self.heap_mib}m"] if self.heap_mib else []
        collector = [f"-XX:+Use{COLLECTORS[self.collector]}GC"] if self.collector else []
        if self.collector == "parallel":
            collector.append(f"-XX:ParallelGCThreads={processors}")
        explicit = [] if self.collects_when_asked else ["-XX:+DisableExplicitGC"]
        pages = ["-XX:+UseLargePages"] if self.large_pages else []
        server = ["-server"] if self.heap_mib or self.collector else []
        compiler = [] if self.optimizes else [FIRST_COMPILER]
        return ["-Djava.awt.headless=true", *server, *heap, *collector, *explicit, *pages, *compiler]


COLLECTORS = {"parallel": "Parallel", "serial": "Serial", "g1": "G1", "z": "Z"}
"""What Java calls each garbage collector."""
TOMCAT_SETTINGS = {
    # The program's own (tomcat.apache.org, HTTP connector, resources, Jasper); Debian's package adds a log of requests.
    Tuning.DEFAULT: TomcatSettings(
        threads=200,
        connections=8192,
        requests_each=100,
        cache_kib=10_240,
        cache_ms=5_000,
        recompiles=True,
        access_log=True,
    ),
    # Heap of one size and parallel collection, as the web server's sizing tests had them (table 6-5; theirs was 2 GB).
    Tuning.TUNED: TomcatSettings(
        heap_mib=512,
        collector="parallel",
        collects_when_asked=False,
        threads=512,
        connections=16_384,
        requests_each=-1,
        cache_kib=65_536,
        cache_ms=3_600_000,
        recompiles=False,
        access_log=False,
    ),
}
TOMCAT_NAME = "tomcat"
"""Of its settings."""


def find_settings(site: Site) -> TomcatSettings:
    """Returns Tomcat's settings of a site."""
    return resolve_settings(site, TOMCAT_NAME, TOMCAT_SETTINGS)


def build_start_command(site: Site, properties: Mapping[str, str], form: TomcatForm = PACKAGED) -> list[str]:
    """Starts it in the foreground; pages find the properties."""
    options = find_settings(site).list_options(site.threads)
    base_properties = {"catalina.base": site.folder, "catalina.home": HOME, "java.io.tmpdir": f"{site.folder}/temp"}
    java_options = [
        f"-D{name}={value}"
        for name, value in (base_properties | {"http.maxConnections": "512"} | dict(properties)).items()
    ]
    path = ":".join([f"{site.folder}/{TOMCAT_PROGRAM}"] * bool(form.source) + [*form.path])
    return [JAVA, *options, *java_options, "-cp", path, *form.main]


def read_source(name: str) -> str:
    """A program of ours in Java."""
    return files("loadstone.suts").joinpath("servlet", name).read_text()


def build_compile_command(text: str, form: TomcatForm, into: str) -> list[str]:
    """Compiles a program that is there, into a folder."""
    command = f"{JAVA} {QUICK} -cp '{JARS}/*' {COMPILER} -proc:none --release {JAVA_LEVEL} -cp {form.api}"
    return build_shell_command(f"mkdir -p {into} && {command} -d {into} {text}")


def build_folder_command(site: Site) -> list[str]:
    """Makes what it needs to be there."""
    return ["mkdir", "-p", f"{site.folder}/temp", f"{site.folder}/work", f"{site.folder}/logs"]


def render_server_xml(site: Site, contexts: Mapping[str, str], kept_files: Mapping[str, str] | None = None) -> str:
    """Over HTTP and TLS; web applications by their path, with their folder, and with a folder of kept files."""
    chosen = find_settings(site)
    common = (
        f'address="{site.listen}" acceptCount="4096" maxThreads="{chosen.threads}" '
        f'maxConnections="{chosen.connections}" maxKeepAliveRequests="{chosen.requests_each}" '
        'URIEncoding="ISO-8859-1" relaxedQueryChars="[]|"'
    )
    links, folders = ' allowLinking="true"' if site.shared_folder else "", kept_files or {}
    parts = "".join(_context(path, folder, folders.get(path, ""), chosen, links) for path, folder in contexts.items())
    return (
        f'<Server port="-1">\n  <Service name="Catalina">\n    <Connector port="{site.port}" {common}/>\n'
        f'    <Connector port="{site.tls_port}" {common} SSLEnabled="true" scheme="https" secure="true">\n'
        f"      <SSLHostConfig><Certificate certificateFile={quoteattr(f'{site.certificates}/server.pem')} "
        f'certificateKeyFile={quoteattr(f"{site.certificates}/server-key.pem")} type="EC"/></SSLHostConfig>\n'
        '    </Connector>\n    <Engine name="Catalina" defaultHost="localhost">\n'
        '      <Host name="localhost" appBase="none" autoDeploy="false" deployOnStartup="false">\n'
        f"{TOMCAT_LOG if chosen.access_log else ''}{parts}      </Host>\n    </Engine>\n  </Service>\n</Server>\n"
    )


def read_page(name: str) -> str:
    """A page of ours, or a part of one."""
    return files("loadstone.suts").joinpath("jsp", name).read_text()


def _context(path: str, folder: str, kept_files: str, chosen: TomcatSettings, links: str) -> str:
    name = f' sessionCookieName="{path[1:]}"' if path else ""
    return (
        f'        <Context path="{path}" docBase={quoteattr(folder)}{name}>\n'
        f'          <Resources cacheMaxSize="{chosen.cache_kib}" cacheTtl="{chosen.cache_ms}"{links}>'
        f"{_write_resources(kept_files)}</Resources>\n"
        '          <Manager pathname=""/>\n'
        # No page uses a tag of a library, so Tomcat need not search them for tags.
        '          <JarScanner><JarScanFilter defaultTldScan="false"/></JarScanner>\n        </Context>\n'
    )


def _write_resources(folder: str) -> str:
    """A folder whose files an application has in addition to its own, and which it only reads."""
    kind = "org.apache.catalina.webresources.DirResourceSet"
    line = f'<PostResources className="{kind}" base={quoteattr(folder)} webAppMount="/" readOnly="true"/>'
    return line if folder else ""


def render_web_xml(
    site: Site,
    pages: Mapping[str, str],
    file_patterns: Sequence[str],
    servlets: Mapping[str, Sequence[str]] | None = None,
    max_upload_bytes: int = 0,
) -> str:
    """Returns the descriptor of one application: patterns of JSP pages by page, patterns of files, and patterns by
    servlet. Servlets take uploads of so many bytes, in memory.
    """
    development = "true" if find_settings(site).recompiles else "false"
    compile_settings = "".join(
        f"    <init-param><param-name>{name}</param-name><param-value>{value}</param-value></init-param>\n"
        for name, value in {
            "development": development,
            "compilerSourceVM": JAVA_LEVEL,
            "compilerTargetVM": JAVA_LEVEL,
        }.items()
    )
    page_servlets = "".join(
        f"  <servlet>\n    <servlet-name>{name}</servlet-name>\n    <jsp-file>/WEB-INF/{name}</jsp-file>\n"
        f"{compile_settings}"
        "    <load-on-startup>1</load-on-startup>\n  </servlet>\n"
        f"  <servlet-mapping><servlet-name>{name}</servlet-name><url-pattern>{url}</url-pattern></servlet-mapping>\n"
        for url, name in pages.items()
    )
    servlet_lines = "".join(
        f"  <servlet><servlet-name>{name}</servlet-name><servlet-class>{name}</servlet-class>"
        f"<load-on-startup>1</load-on-startup>{_uploads(max_upload_bytes)}</servlet>\n"
        + "".join(
            f"  <servlet-mapping><servlet-name>{name}</servlet-name>"
            f"<url-pattern>{url}</url-pattern></servlet-mapping>\n"
            for url in patterns
        )
        for name, patterns in (servlets or {}).items()
    )
    file_mappings = "".join(
        f"  <servlet-mapping><servlet-name>files</servlet-name><url-pattern>{url}</url-pattern></servlet-mapping>\n"
        for url in file_patterns
    )
    return (
        '<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="6.0">\n'
        # No library configures the application, so Tomcat need not search them for classes that would.
        "  <absolute-ordering/>\n"
        "  <servlet>\n    <servlet-name>files</servlet-name>\n"
        "    <servlet-class>org.apache.catalina.servlets.DefaultServlet</servlet-class>\n  </servlet>\n"
        f"{page_servlets}{servlet_lines}{file_mappings}"
        "  <mime-mapping><extension>gif</extension><mime-type>image/gif</mime-type></mime-mapping>\n"
        "  <mime-mapping><extension>html</extension><mime-type>text/html</mime-type></mime-mapping>\n"
        "  <session-config><session-timeout>15</session-timeout></session-config>\n</web-app>\n"
    )


def _uploads(max_bytes: int) -> str:
    limits = ("max-file-size", "max-request-size", "file-size-threshold")
    parts = "".join(f"<{name}>{max_bytes}</{name}>" for name in limits)
    return f"<multipart-config>{parts}</multipart-config>" if max_bytes else ""
