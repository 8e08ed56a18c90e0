"""nginx alone: files, an answer of its own configuration, and PHP behind it over FastCGI."""

from loadstone.model.service import Mechanism, ServiceRole, Tuning
from loadstone.services import nginx, php
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.mechanisms import MECHANISMS_PATH, PHP_PATH, build_commands, collect_sources
from loadstone.services.unprivileged import build_shell_command

LENGTH = 2048
"""Bytes of the module's answer, as in the published tests."""
NGINX_VARIABLES = (
    "request_method",
    "request_uri",
    "query_string",
    "server_protocol",
    "remote_addr",
    "server_addr",
    "http_host",
)
"""Variables of nginx that the answer tells."""


def build_program(site: Site) -> Program:
    """Returns nginx, which runs as the user that starts it."""
    texts = {nginx.NGINX_CONFIGURATION: render_configuration(site), **collect_sources(site)}
    if site.mechanism is not Mechanism.PHP_FASTCGI:
        return Program(
            build_shell_command(nginx.render_start(site)),
            texts,
            build_commands(site),
            status=nginx.NGINX_STATUS_SOURCES,
            version=build_shell_command(nginx.NGINX_VERSION),
        )
    return Program(
        build_shell_command(f"{php.render_manager_wait(site)}; {nginx.render_start(site)}"),
        {**texts, php.FPM_CONFIGURATION: php.render_manager_configuration(site)},
        build_commands(site),
        {"php": php.build_manager_command(site)},
        status={**nginx.NGINX_STATUS_SOURCES, **php.PHP_STATUS_SOURCES},
        version=build_shell_command(f"{nginx.NGINX_VERSION}; {php.PHP_VERSION}"),
    )


def render_configuration(site: Site) -> str:
    """Returns the configuration of one mechanism."""
    root = f"root {site.document_root};\n"
    match site.mechanism:
        case Mechanism.MODULE:
            return nginx.render_http(
                site,
                nginx.render_http_and_tls(
                    site, f"{root}        location {MECHANISMS_PATH} {{ return 200 '{_answer()}'; }}\n"
                ),
            )
        case Mechanism.PHP_FASTCGI:
            parts = (
                nginx.render_php_upstream(site),
                nginx.render_http_and_tls(site, f"{root}{nginx.render_php_status(site)}{_php(site)}"),
            )
            return nginx.render_http(site, "".join(parts))
    return nginx.render_http(site, nginx.render_http_and_tls(site, root))


def _answer() -> str:
    """Made anew for each request from its variables, by the module `rewrite`."""
    environment = "".join(f"{name.upper()}=${name}\n" for name in NGINX_VARIABLES)
    return f"{environment}{'-' * (LENGTH - len(environment) - 20)}\nend of environment\n"


def _php(site: Site) -> str:
    keep_alive = "fastcgi_keep_conn on; " if site.tuning is Tuning.TUNED else ""
    return (
        f"        location {PHP_PATH} {{ fastcgi_pass php; {keep_alive}fastcgi_buffers 40 4k; "
        f"fastcgi_param REQUEST_METHOD $request_method; "
        f"fastcgi_param SCRIPT_FILENAME {site.document_root}{PHP_PATH}; }}\n"
    )


KIND = ServiceKind(
    "nginx",
    ServiceRole.WEBSERVER,
    build_program,
    8080,
    has_tls=True,
    reads_files=True,
    needs=nginx.NGINX_NEEDS,
    mechanisms={Mechanism.STATIC: {}, Mechanism.MODULE: {}, Mechanism.PHP_FASTCGI: php.NEEDS_FPM},
    is_tuned=True,
    settings={nginx.NGINX_NAME: nginx.NGINX_SETTINGS, php.PHP_NAME: php.PHP_SETTINGS},
)
