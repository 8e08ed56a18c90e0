"""nginx with PHP behind it over FastCGI: pages by PHP's process manager, files by nginx itself."""

from loadstone.model.service import ServiceRole, Tuning
from loadstone.services import nginx, php
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.sites import FILES, file_commands
from loadstone.services.unprivileged import shell

VARIABLES = ("QUERY_STRING", "REQUEST_METHOD", "CONTENT_TYPE", "CONTENT_LENGTH", "REQUEST_URI", "SERVER_PROTOCOL")
"""What PHP is told of a request."""


def program(site: Site) -> Program:
    """Both as the user that starts them."""
    texts = {nginx.CONFIGURATION: configuration(site), php.FPM_CONFIGURATION: php.manager_configuration(site)}
    return Program(
        shell(f"{php.manager_is_there(site)}; {nginx.serving(site)}"),
        {**texts, **php.pages()},
        file_commands(site, php.SESSIONS),
        {"php": php.manager(site)},
        status={**nginx.STATUS_SOURCES, **php.STATUS_SOURCES},
        version=shell(f"{nginx.VERSION}; {php.VERSION}"),
    )


def configuration(site: Site) -> str:
    """Over HTTP and TLS, with PHP for what is no file; files have dates and no tags, as the reference server's have."""
    files = "".join(f"        location /{place} {{ }}\n" for place in FILES)
    return nginx.http(
        site,
        nginx.php_upstream(site)
        + nginx.http_and_tls(
            site, f"root {site.document_root};\n        etag off;\n{files}{nginx.php_status(site)}{_pages(site)}"
        ),
    )


def _pages(site: Site) -> str:
    parameters = {name: f"${name.lower()}" for name in VARIABLES}
    parameters |= {"SCRIPT_FILENAME": f"{site.folder}/{php.PAGES}/index.php", **php.page_environment(site)}
    lines = "".join(f"            fastcgi_param {name} {value};\n" for name, value in parameters.items())
    keep_alive = "            fastcgi_keep_conn on;\n" if site.tuning is Tuning.TUNED else ""
    return (
        f"        location / {{\n            fastcgi_pass php;\n{keep_alive}"
        f"            fastcgi_buffers 40 4k;\n{lines}        }}\n"
    )


KIND = ServiceKind(
    "nginx-php",
    ServiceRole.WEB,
    program,
    8080,
    has_tls=True,
    reads_files=True,
    needs={**nginx.NEEDS, **php.NEEDS_FPM},
    is_tuned=True,
    settings={nginx.NAME: nginx.SETTINGS, php.NAME: php.SETTINGS},
)
