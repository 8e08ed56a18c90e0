"""Apache as an ordinary process with all its files in one folder; it refuses to run as root, so it runs as nobody."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.model.service import Tuning
from loadstone.services import php
from loadstone.services.kind import Site
from loadstone.services.status import PHP_STATUS, STATUS, StatusSource
from loadstone.services.status import apache as read_status
from loadstone.services.unprivileged import NOT_ROOT

CONFIGURATION = "apache.conf"
PROGRAM = "/usr/sbin/apache2"
NEEDS = {PROGRAM: "apache2-bin"}
VERSION = f"{PROGRAM} -v | head -n 1"
MODULES = "/usr/lib/apache2/modules"
STATUS_SOURCES = {"apache": StatusSource(f"{STATUS}?auto", read_status)}
ALWAYS = ("status", "authz_core", "alias", "mime", "env", "ssl", "socache_shmcb", "headers")
"""Modules of every server."""

LOG = 'CustomLog {folder}/access.log "%h %l %u %t \\"%r\\" %>s %O \\"%{{Referer}}i\\" \\"%{{User-Agent}}i\\""\n'
"""Debian's format `combined`."""


@dataclass(frozen=True)
class Pool:
    """How a multi-processing module holds its workers."""

    module: str
    lines: str
    processes: int
    """Of them at most."""


EVENT = {
    # Debian's mpm_event.conf.
    Tuning.DEFAULT: Pool(
        "mpm_event",
        "StartServers 2\nMinSpareThreads 25\nMaxSpareThreads 75\nThreadLimit 64\nThreadsPerChild 25\n"
        "MaxRequestWorkers 150\n",
        6,
    ),
    # All threads from the start, for a thousand requests at once.
    Tuning.TUNED: Pool(
        "mpm_event",
        "ServerLimit 4\nStartServers 4\nThreadLimit 256\nThreadsPerChild 256\nMaxRequestWorkers 1024\n"
        "MinSpareThreads 1\nMaxSpareThreads 1024\nAsyncRequestWorkerFactor 8\n",
        4,
    ),
}
PREFORK = {
    # Debian's mpm_prefork.conf.
    Tuning.DEFAULT: Pool(
        "mpm_prefork", "StartServers 5\nMinSpareServers 5\nMaxSpareServers 10\nMaxRequestWorkers 150\n", 150
    ),
    # It begins with one child a second and more, which leaves those who come at once waiting: all from the start.
    Tuning.TUNED: Pool(
        "mpm_prefork",
        "ServerLimit 256\nStartServers 256\nMinSpareServers 1\nMaxSpareServers 256\nMaxRequestWorkers 256\n",
        256,
    ),
}
"""Multi-processing modules, by tuning: threads, and processes, which is what PHP within the server needs."""


@dataclass(frozen=True)
class ApacheSettings:
    """What is tuned beside that."""

    requests_each: int
    """Requests after which a connection is closed, 0 for never."""
    sends_files: bool
    """Whether the kernel sends files."""
    tls_sessions_bytes: int
    """Memory for sessions that resume."""
    tells_all: bool
    """Whether each request is noted for the status page."""
    logs_requests: bool


SETTINGS = {
    # Debian's apache2.conf, ssl.conf, status.conf and default site; EnableSendfile is off unless said
    # (httpd.apache.org, core).
    Tuning.DEFAULT: ApacheSettings(100, False, 512_000, True, True),
    Tuning.TUNED: ApacheSettings(0, True, 16_000_000, False, False),
}


def serving(site: Site) -> str:
    """The shell's words that start it in the foreground."""
    return f"exec {shlex.join([*NOT_ROOT, PROGRAM, '-DFOREGROUND', '-f', f'{site.folder}/{CONFIGURATION}'])}"


def http(site: Site, pool: Pool, modules: Sequence[str], content: str) -> str:
    """Over HTTP and TLS; everything written below one folder. What is served is given."""
    settings = SETTINGS[site.tuning]
    loaded = "".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so\n" for name in (pool.module, *ALWAYS, *modules))
    return (
        f"ServerRoot {site.folder}\nPidFile {site.folder}/apache.pid\nDefaultRuntimeDir {site.folder}\n"
        f"ServerName localhost\nErrorLog /dev/stderr\nLogLevel warn\n{loaded}{pool.lines}ListenBacklog 4096\n"
        f"Listen {site.listen}:{site.port}\nListen {site.listen}:{site.tls_port}\n"
        f"Timeout 300\nKeepAlive On\nMaxKeepAliveRequests {settings.requests_each}\nKeepAliveTimeout 5\n"
        f"EnableSendfile {'On' if settings.sends_files else 'Off'}\nAcceptPathInfo On\n"
        "TypesConfig /dev/null\nAddType text/html .html\nAddType image/gif .gif\n"
        f"SSLSessionCache shmcb:{site.folder}/tls({settings.tls_sessions_bytes})\n"
        f"{LOG.format(folder=site.folder) if settings.logs_requests else ''}"
        f"ExtendedStatus {'On' if settings.tells_all else 'Off'}\n"
        f"<Location {STATUS}>\n    SetHandler server-status\n    Require all granted\n</Location>\n{content}"
        f"<VirtualHost *:{site.tls_port}>\n    SSLEngine on\n    SSLCertificateFile {site.certificates}/server.pem\n"
        f"    SSLCertificateKeyFile {site.certificates}/server-key.pem\n</VirtualHost>\n"
    )


def php_handler(site: Site) -> tuple[str, str]:
    """What gives requests to PHP's process manager, to which connections are kept where it is tuned; and its lines.
    What it keeps is also the most that each process opens, so that together they never hold more than there are.
    """
    address = f"unix:{site.folder}/{php.SOCKET}|fcgi://php"
    max_connections = (
        php.SETTINGS[site.tuning].children // EVENT[site.tuning].processes if site.tuning is Tuning.TUNED else 0
    )
    lines = (
        f'<Proxy "{address}">\n    ProxySet enablereuse=on max={max_connections}\n</Proxy>\n' if max_connections else ""
    )
    return f'"proxy:{address}"', lines


def php_status(handler: str) -> str:
    """A place where PHP says what it does."""
    return f"<Location {PHP_STATUS}>\n    SetHandler {handler}\n    Require all granted\n</Location>\n"


def readable(folder: str, lines: str = "") -> str:
    """A folder that anyone may see, with what else holds for it."""
    return f"<Directory {folder}>\n    Require all granted\n{lines}</Directory>\n"
