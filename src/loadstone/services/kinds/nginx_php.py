"""nginx with PHP behind it over FastCGI: pages by PHP's process manager, files by nginx itself."""

from loadstone.model.service import ServiceRole, Tuning
from loadstone.services import nginx, php
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.sites import SITE_FOLDERS, build_file_commands
from loadstone.services.unprivileged import build_shell_command

NGINX_PHP_VARIABLES = (
    "QUERY_STRING",
    "REQUEST_METHOD",
    "CONTENT_TYPE",
    "CONTENT_LENGTH",
    "REQUEST_URI",
    "SERVER_PROTOCOL",
)
"""What PHP is told of a request."""


def build_program(site: Site) -> Program:
    """Both as the user that starts them."""
    texts = {
        nginx.NGINX_CONFIGURATION: render_configuration(site),
        php.FPM_CONFIGURATION: php.render_manager_configuration(site),
    }
    return Program(
        build_shell_command(f"{php.render_manager_wait(site)}; {nginx.render_start(site)}"),
        {**texts, **php.read_pages()},
        build_file_commands(site, php.SESSIONS),
        {"php": php.build_manager_command(site)},
        status={**nginx.NGINX_STATUS_SOURCES, **php.PHP_STATUS_SOURCES},
        version=build_shell_command(f"{nginx.NGINX_VERSION}; {php.PHP_VERSION}"),
    )


def render_configuration(site: Site) -> str:
    """Over HTTP and TLS, with PHP for what is no file; files have dates and no tags, as the reference server's have."""
    files = "".join(f"        location /{place} {{ }}\n" for place in SITE_FOLDERS)
    return nginx.render_http(
        site,
        nginx.render_php_upstream(site)
        + nginx.render_http_and_tls(
            site, f"root {site.document_root};\n        etag off;\n{files}{nginx.render_php_status(site)}{_pages(site)}"
        ),
    )


def _pages(site: Site) -> str:
    parameters = {name: f"${name.lower()}" for name in NGINX_PHP_VARIABLES}
    parameters |= {"SCRIPT_FILENAME": f"{site.folder}/{php.PHP_PAGES}/index.php", **php.build_page_environment(site)}
    lines = "".join(f"            fastcgi_param {name} {value};\n" for name, value in parameters.items())
    keep_alive = "            fastcgi_keep_conn on;\n" if site.tuning is Tuning.TUNED else ""
    return (
        f"        location / {{\n            fastcgi_pass php;\n{keep_alive}"
        f"            fastcgi_buffers 40 4k;\n{lines}        }}\n"
    )


KIND = ServiceKind(
    "nginx-php",
    ServiceRole.WEB,
    build_program,
    8080,
    has_tls=True,
    reads_files=True,
    needs={**nginx.NGINX_NEEDS, **php.NEEDS_FPM},
    is_tuned=True,
    settings={nginx.NGINX_NAME: nginx.NGINX_SETTINGS, php.PHP_NAME: php.PHP_SETTINGS},
)
