"""nginx as an ordinary process with all its files in one folder; and a stock one, for the files of a workload."""

from typing import Self

from pydantic import Field, model_validator

from loadstone.model.reading import Section
from loadstone.model.service import Tuning
from loadstone.services import php
from loadstone.services.kind import Program, Site
from loadstone.services.settings import resolve_settings
from loadstone.services.sites import build_file_commands
from loadstone.services.status import PHP_STATUS, STATUS, StatusSource
from loadstone.services.status import read_nginx as read_status
from loadstone.services.unprivileged import build_shell_command

NGINX_CONFIGURATION = "nginx.conf"
NGINX_PORT = 8080
"""Where it listens on a machine of its own."""
NGINX_NEEDS = {"/usr/sbin/nginx": "nginx-light"}
NGINX_VERSION = "/usr/sbin/nginx -v 2>&1"
NGINX_STATUS_SOURCES = {"nginx": StatusSource(STATUS, read_status)}
WORKER_FILES = 16_384
"""Open files a worker may have; a connection and the file it is sent take two. No tuning: with fewer, users who come
would be turned away."""
SPOOLS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
"""What nginx would else keep in the system's folders."""


class NginxSettings(Section):
    """Settings of nginx."""

    requests_each: int = Field(ge=1, description="requests after which a connection is closed")
    open_files: int = Field(ge=0, le=WORKER_FILES // 2, description="files that stay open; 0 for none")
    open_files_s: int = Field(
        ge=0, description="seconds that an unused file stays open, and after which it is looked at again"
    )
    tls_sessions_mib: int = Field(
        ge=0, le=65_536, description="memory for TLS sessions that resume, MiB, 4000 sessions each; 0 for none"
    )
    access_log: bool = Field(description="whether each request is logged")
    sendfile: bool = Field(default=True, description="whether the kernel sends files")
    gzip: bool = Field(default=True, description="whether responses are compressed")

    @model_validator(mode="after")
    def _open_files_have_an_age(self) -> Self:
        if self.open_files and not self.open_files_s:
            raise ValueError("`open_files` needs `open_files_s`, the seconds that an unused file stays open")
        return self


NGINX_SETTINGS = {
    # The program's own (nginx.org, documentation of the core and TLS modules); Debian's package leaves them so, and
    # has a log of requests.
    Tuning.DEFAULT: NginxSettings(
        requests_each=1000, open_files=0, open_files_s=0, tls_sessions_mib=0, access_log=True
    ),
    # Entries and age of the file cache as the web server's sizing tests had them (table 6-3).
    Tuning.TUNED: NginxSettings(
        requests_each=10_000_000,
        open_files=WORKER_FILES // 4,
        open_files_s=3600,
        tls_sessions_mib=16,
        access_log=False,
    ),
}
NGINX_NAME = "nginx"
"""Of its settings."""


def build_program(site: Site) -> Program:
    """Writes the workload's files first; then in the foreground, as the user that starts it."""
    texts = {NGINX_CONFIGURATION: render_configuration(site)}
    return Program(
        build_shell_command(render_start(site)),
        texts,
        build_file_commands(site),
        version=build_shell_command(NGINX_VERSION),
    )


def render_start(site: Site) -> str:
    """The shell's words that start it."""
    return f"PATH=$PATH:/usr/sbin; exec nginx -p {site.folder} -e stderr -c {site.folder}/{NGINX_CONFIGURATION}"


def render_configuration(site: Site) -> str:
    """The workload's files alone."""
    return render_http(
        site, f"    server {{ listen {site.listen}:{site.port} backlog=4096; root {site.document_root}; }}\n"
    )


def render_http(site: Site, servers: str) -> str:
    """The distribution's own where it matters, everything written below one folder; what is served is given."""
    settings = resolve_settings(site, NGINX_NAME, NGINX_SETTINGS)
    settings_lines = "".join(f"    {kind}_temp_path {site.folder}/{kind};\n" for kind in SPOOLS) + _tuned(settings)
    log = f"{site.folder}/access.log" if settings.access_log else "off"
    return (
        f"daemon off;\nuser root;\npid {site.folder}/nginx.pid;\nworker_processes {site.threads};\n"
        f"worker_rlimit_nofile {WORKER_FILES};\nevents {{ worker_connections {WORKER_FILES // 2}; }}\n"
        "http {\n    default_type application/octet-stream;\n    types { text/html html; image/gif gif; }\n"
        f"    access_log {log};\n    gzip {_switch(settings.gzip)};\n"
        f"    sendfile {_switch(settings.sendfile)};\n    tcp_nopush on;\n{settings_lines}{servers}}}\n"
    )


def _switch(is_on: bool) -> str:
    return "on" if is_on else "off"


def _tuned(settings: NginxSettings) -> str:
    lines = f"    keepalive_requests {settings.requests_each};\n"
    if settings.open_files:
        lines += f"    open_file_cache max={settings.open_files} inactive={settings.open_files_s}s;\n"
        lines += f"    open_file_cache_valid {settings.open_files_s}s;\n"
    return lines + (
        f"    ssl_session_cache shared:tls:{settings.tls_sessions_mib}m;\n" * bool(settings.tls_sessions_mib)
    )


def render_php_upstream(site: Site) -> str:
    """PHP's process manager, to which connections are kept where it is tuned."""
    keep_alive = (
        f"keepalive {php.compute_kept_connections(site, site.threads)}; " if site.tuning is Tuning.TUNED else ""
    )
    return f"    upstream php {{ server unix:{site.folder}/{php.PHP_SOCKET}; {keep_alive}}}\n"


def render_php_status(site: Site) -> str:
    """A place where PHP says what it does."""
    return (
        f"        location = {PHP_STATUS} {{ fastcgi_pass php; fastcgi_param REQUEST_METHOD GET; "
        f"fastcgi_param SCRIPT_NAME {PHP_STATUS}; fastcgi_param SCRIPT_FILENAME {PHP_STATUS}; "
        "fastcgi_param QUERY_STRING json; }\n"
    )


def render_http_and_tls(site: Site, locations: str) -> str:
    """A server over HTTP and TLS."""
    return (
        f"    server {{\n        listen {site.listen}:{site.port} backlog=4096;\n"
        f"        listen {site.listen}:{site.tls_port} ssl backlog=4096;\n"
        f"        ssl_certificate {site.certificates}/server.pem;\n"
        f"        ssl_certificate_key {site.certificates}/server-key.pem;\n"
        f"        location = {STATUS} {{ stub_status; }}\n        {locations}    }}\n"
    )
