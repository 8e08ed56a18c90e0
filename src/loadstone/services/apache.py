"""Apache as an ordinary process with all its files in one folder; it refuses to run as root, so it runs as nobody."""

import shlex
from collections.abc import Sequence
from typing import ClassVar, Self

from pydantic import Field, model_validator

from loadstone.model.reading import Section
from loadstone.model.service import Tuning
from loadstone.services import php
from loadstone.services.kind import Site
from loadstone.services.settings import resolve_settings
from loadstone.services.status import PHP_STATUS, STATUS, StatusSource
from loadstone.services.status import read_apache as read_status
from loadstone.services.unprivileged import NOT_ROOT

APACHE_CONFIGURATION = "apache.conf"
APACHE_PROGRAM = "/usr/sbin/apache2"
APACHE_NEEDS = {APACHE_PROGRAM: "apache2-bin"}
APACHE_VERSION = f"{APACHE_PROGRAM} -v | head -n 1"
APACHE_MODULES = "/usr/lib/apache2/modules"
APACHE_STATUS_SOURCES = {"apache": StatusSource(f"{STATUS}?auto", read_status)}
ALWAYS = ("status", "authz_core", "alias", "mime", "env", "ssl", "socache_shmcb", "headers")
"""Modules of every server."""

APACHE_LOG = 'CustomLog {folder}/access.log "%h %l %u %t \\"%r\\" %>s %O \\"%{{Referer}}i\\" \\"%{{User-Agent}}i\\""\n'
"""Debian's format `combined`."""


class EventSettings(Section):
    """Settings of Apache's pool of threads (mpm_event)."""

    module: ClassVar[str] = "mpm_event"

    processes: int | None = Field(default=None, ge=1, le=10_000, description="processes at most; unset: as needed")
    start: int = Field(ge=1, le=10_000, description="processes at the start")
    min_spare: int = Field(ge=1, description="least idle threads")
    max_spare: int = Field(ge=1, description="most idle threads")
    threads: int = Field(ge=1, le=20_000, description="threads of each process")
    thread_limit: int = Field(ge=1, le=20_000, description="threads of each process that Apache makes room for")
    max: int = Field(ge=1, le=1_000_000, description="requests at once, at most")
    async_factor: int | None = Field(
        default=None, ge=1, le=1000, description="idle connections for each free thread; unset: as distributed"
    )

    @model_validator(mode="after")
    def _threads_suffice(self) -> Self:
        if self.threads > self.thread_limit:
            raise ValueError(f"threads ({self.threads}) needs a thread_limit of as many, not {self.thread_limit}")
        if self.max % self.threads:
            raise ValueError(f"max ({self.max}) must be a multiple of threads ({self.threads})")
        if self.processes is not None and self.max > self.processes * self.threads:
            raise ValueError(
                f"max ({self.max}) needs processes times threads of as many, not {self.processes * self.threads}"
            )
        return self

    @property
    def most_processes(self) -> int:
        """Processes at most, whether set or as needed."""
        return self.processes or self.max // self.threads

    @property
    def lines(self) -> str:
        """Directives of the module."""
        limit = f"ServerLimit {self.most_processes}\n" * (self.processes is not None or self.most_processes > 16)
        factor = f"AsyncRequestWorkerFactor {self.async_factor}\n" if self.async_factor else ""
        return (
            f"{limit}StartServers {self.start}\nMinSpareThreads {self.min_spare}\nMaxSpareThreads {self.max_spare}\n"
            f"ThreadLimit {self.thread_limit}\nThreadsPerChild {self.threads}\nMaxRequestWorkers {self.max}\n{factor}"
        )


class PreforkSettings(Section):
    """Settings of Apache's pool of processes (mpm_prefork), which PHP within the server needs."""

    module: ClassVar[str] = "mpm_prefork"

    start: int = Field(ge=1, le=200_000, description="processes at the start")
    min_spare: int = Field(ge=1, le=200_000, description="least idle processes")
    max_spare: int = Field(ge=1, le=200_000, description="most idle processes")
    max: int = Field(ge=1, le=200_000, description="requests at once, at most")
    requests_each: int = Field(
        default=0, ge=0, description="connections after which a process is replaced; 0 for never"
    )

    @model_validator(mode="after")
    def _spare_processes_exist(self) -> Self:
        if not self.min_spare <= self.max_spare or self.start > self.max:
            raise ValueError(
                f"needs min_spare ({self.min_spare}) <= max_spare ({self.max_spare}) and start ({self.start}) <= max "
                f"({self.max}); change them together"
            )
        return self

    @property
    def lines(self) -> str:
        """Directives of the module."""
        limit = f"ServerLimit {self.max}\n" * (self.max > PREFORK_LIMIT or self.start == self.max)
        replaced = f"MaxConnectionsPerChild {self.requests_each}\n" if self.requests_each else ""
        return (
            f"{limit}StartServers {self.start}\nMinSpareServers {self.min_spare}\nMaxSpareServers {self.max_spare}\n"
            f"MaxRequestWorkers {self.max}\n{replaced}"
        )


PREFORK_LIMIT = 256
"""Processes that Apache allows unless told more (httpd.apache.org, ServerLimit)."""
EVENT_SETTINGS = {
    # Debian's mpm_event.conf.
    Tuning.DEFAULT: EventSettings(start=2, min_spare=25, max_spare=75, thread_limit=64, threads=25, max=150),
    # All threads from the start, for a thousand requests at once.
    Tuning.TUNED: EventSettings(
        processes=4,
        start=4,
        min_spare=1,
        max_spare=1024,
        thread_limit=256,
        threads=256,
        max=1024,
        async_factor=8,
    ),
}
PREFORK = {
    # Debian's mpm_prefork.conf.
    Tuning.DEFAULT: PreforkSettings(start=5, min_spare=5, max_spare=10, max=150),
    # It begins with one child a second and more, which leaves those who come at once waiting: all from the start.
    Tuning.TUNED: PreforkSettings(start=256, min_spare=1, max_spare=256, max=256),
}
"""Multi-processing modules, by tuning: threads, and processes, which is what PHP within the server needs."""


class ApacheSettings(Section):
    """Settings of Apache, whatever its pool."""

    requests_each: int = Field(ge=0, description="requests after which a connection is closed; 0 for never")
    keep_alive_s: int = Field(default=5, ge=1, le=3600, description="seconds that an idle connection stays open")
    sendfile: bool = Field(description="whether the kernel sends files")
    tls_sessions_bytes: int = Field(ge=8192, le=1 << 40, description="memory for TLS sessions that resume, bytes")
    extended_status: bool = Field(description="whether each request is noted for the status page")
    access_log: bool = Field(description="whether each request is logged")


APACHE_SETTINGS = {
    # Debian's apache2.conf, ssl.conf, status.conf and default site; EnableSendfile is off unless said
    # (httpd.apache.org, core).
    Tuning.DEFAULT: ApacheSettings(
        requests_each=100, sendfile=False, tls_sessions_bytes=512_000, extended_status=True, access_log=True
    ),
    Tuning.TUNED: ApacheSettings(
        requests_each=0, sendfile=True, tls_sessions_bytes=16_000_000, extended_status=False, access_log=False
    ),
}
APACHE_NAME, EVENT_NAME, PREFORK_NAME = "apache", "apache.event", "apache.prefork"
"""Of its settings."""
Pool = EventSettings | PreforkSettings


def find_event_pool(site: Site) -> EventSettings:
    """Returns the pool of threads of a site."""
    return resolve_settings(site, EVENT_NAME, EVENT_SETTINGS)


def find_prefork_pool(site: Site) -> PreforkSettings:
    """Returns the pool of processes of a site."""
    return resolve_settings(site, PREFORK_NAME, PREFORK)


def render_start(site: Site) -> str:
    """The shell's words that start it in the foreground."""
    return (
        f"exec {shlex.join([*NOT_ROOT, APACHE_PROGRAM, '-DFOREGROUND', '-f', f'{site.folder}/{APACHE_CONFIGURATION}'])}"
    )


def render_http(site: Site, pool: Pool, modules: Sequence[str], content: str) -> str:
    """Over HTTP and TLS; everything written below one folder. What is served is given."""
    settings = resolve_settings(site, APACHE_NAME, APACHE_SETTINGS)
    loaded = "".join(
        f"LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so\n" for name in (pool.module, *ALWAYS, *modules)
    )
    return (
        f"ServerRoot {site.folder}\nPidFile {site.folder}/apache.pid\nDefaultRuntimeDir {site.folder}\n"
        f"ServerName localhost\nErrorLog /dev/stderr\nLogLevel warn\n{loaded}{pool.lines}ListenBacklog 4096\n"
        f"Listen {site.listen}:{site.port}\nListen {site.listen}:{site.tls_port}\n"
        f"Timeout 300\nKeepAlive On\nMaxKeepAliveRequests {settings.requests_each}\n"
        f"KeepAliveTimeout {settings.keep_alive_s}\n"
        f"EnableSendfile {'On' if settings.sendfile else 'Off'}\nAcceptPathInfo On\n"
        "TypesConfig /dev/null\nAddType text/html .html\nAddType image/gif .gif\n"
        f"SSLSessionCache shmcb:{site.folder}/tls({settings.tls_sessions_bytes})\n"
        f"{APACHE_LOG.format(folder=site.folder) if settings.access_log else ''}"
        f"ExtendedStatus {'On' if settings.extended_status else 'Off'}\n"
        f"<Location {STATUS}>\n    SetHandler server-status\n    Require all granted\n</Location>\n{content}"
        f"<VirtualHost *:{site.tls_port}>\n    SSLEngine on\n    SSLCertificateFile {site.certificates}/server.pem\n"
        f"    SSLCertificateKeyFile {site.certificates}/server-key.pem\n</VirtualHost>\n"
    )


def render_php_handler(site: Site) -> tuple[str, str]:
    """Returns the handler of PHP's process manager, and its configuration lines. Where it is tuned, connections are
    kept. Each process opens at most as many as it keeps, so that together they never exceed the children.
    """
    address = f"unix:{site.folder}/{php.PHP_SOCKET}|fcgi://php"
    max_connections = 0
    if site.tuning is Tuning.TUNED:
        max_connections = php.find_settings(site).children // find_event_pool(site).most_processes
    lines = (
        f'<Proxy "{address}">\n    ProxySet enablereuse=on max={max_connections}\n</Proxy>\n' if max_connections else ""
    )
    return f'"proxy:{address}"', lines


def render_php_status(handler: str) -> str:
    """A place where PHP says what it does."""
    return f"<Location {PHP_STATUS}>\n    SetHandler {handler}\n    Require all granted\n</Location>\n"


def render_readable(folder: str, lines: str = "") -> str:
    """A folder that anyone may see, with what else holds for it."""
    return f"<Directory {folder}>\n    Require all granted\n{lines}</Directory>\n"
