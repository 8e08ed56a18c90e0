"""nginx alone: files, an answer of its own configuration, and PHP behind it over FastCGI."""

from loadstone.model.service import Mechanism, ServiceRole, Tuning
from loadstone.services import nginx, php
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.mechanisms import PATH, PHP_PATH, build_commands, sources
from loadstone.services.unprivileged import shell

LENGTH = 2048
"""Bytes of the module's answer, as in the published tests."""
VARIABLES = (
    "request_method",
    "request_uri",
    "query_string",
    "server_protocol",
    "remote_addr",
    "server_addr",
    "http_host",
)
"""Variables of nginx that the answer tells."""


def program(site: Site) -> Program:
    """As the user that starts it."""
    texts = {nginx.CONFIGURATION: configuration(site), **sources(site)}
    if site.mechanism is not Mechanism.PHP_FASTCGI:
        return Program(
            shell(nginx.serving(site)),
            texts,
            build_commands(site),
            status=nginx.STATUS_SOURCES,
            version=shell(nginx.VERSION),
        )
    return Program(
        shell(f"{php.manager_is_there(site)}; {nginx.serving(site)}"),
        {**texts, php.FPM_CONFIGURATION: php.manager_configuration(site)},
        build_commands(site),
        {"php": php.manager(site)},
        status={**nginx.STATUS_SOURCES, **php.STATUS_SOURCES},
        version=shell(f"{nginx.VERSION}; {php.VERSION}"),
    )


def configuration(site: Site) -> str:
    """Of one mechanism."""
    root = f"root {site.document_root};\n"
    match site.mechanism:
        case Mechanism.MODULE:
            return nginx.http(
                site, nginx.http_and_tls(site, f"{root}        location {PATH} {{ return 200 '{_answer()}'; }}\n")
            )
        case Mechanism.PHP_FASTCGI:
            parts = nginx.php_upstream(site), nginx.http_and_tls(site, f"{root}{nginx.php_status(site)}{_php(site)}")
            return nginx.http(site, "".join(parts))
    return nginx.http(site, nginx.http_and_tls(site, root))


def _answer() -> str:
    """Made anew for each request from its variables, by the module `rewrite`."""
    environment = "".join(f"{name.upper()}=${name}\n" for name in VARIABLES)
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
    program,
    8080,
    has_tls=True,
    reads_files=True,
    needs=nginx.NEEDS,
    mechanisms={Mechanism.STATIC: {}, Mechanism.MODULE: {}, Mechanism.PHP_FASTCGI: php.NEEDS_FPM},
    is_tuned=True,
    settings={nginx.NAME: nginx.SETTINGS, php.NAME: php.SETTINGS},
)
