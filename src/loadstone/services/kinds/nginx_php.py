"""nginx with PHP behind it over FastCGI: pages by PHP's process manager, files by nginx itself."""

from loadstone.services.kind import Program, ServiceKind, ServiceRole, WebSite
from loadstone.services.nginx import CONFIGURATION, http
from loadstone.services.php import (
    CHILDREN,
    FPM,
    FPM_CONFIGURATION,
    PAGES,
    SITE,
    SOCKET,
    fpm_configuration,
    pages,
    preparing,
)
from loadstone.services.unprivileged import shell

TOLD = ("QUERY_STRING", "REQUEST_METHOD", "CONTENT_TYPE", "CONTENT_LENGTH", "REQUEST_URI", "SERVER_PROTOCOL")
"""What PHP is told of a request."""
FILES = ("~ ^/(bank|shop|support)/static/", "/shop/images/", "/support/downloads/")
"""What is a file, and no page."""


def program(site: WebSite) -> Program:
    """Both as the user that starts them."""
    # It would answer for a PHP that is not there yet.
    waiting = f"n=0; until [ -S {site.folder}/{SOCKET} ]; do n=$((n+1)); [ $n -lt 300 ] || exit 1; sleep 0.1; done"
    serving = f"exec nginx -p {site.folder} -e stderr -c {site.folder}/{CONFIGURATION}"
    command = shell(f"PATH=$PATH:/usr/sbin; {waiting}; {serving}")
    texts = {CONFIGURATION: configuration(site), FPM_CONFIGURATION: fpm_configuration(site), **pages()}
    php = shell(f"{FPM} --nodaemonize --allow-to-run-as-root --fpm-config {site.folder}/{FPM_CONFIGURATION}")
    return Program(command, texts, preparing(site), {"php": php})


def configuration(site: WebSite) -> str:
    """Over HTTP and TLS, with PHP for what is no file."""
    return http(
        site,
        f"    upstream php {{ server unix:{site.folder}/{SOCKET}; keepalive {CHILDREN // site.threads or 1}; }}\n"
        f"    server {{\n        listen {site.listen}:{site.port} backlog=4096;\n"
        f"        listen {site.listen}:{site.tls_port} ssl backlog=4096;\n"
        f"        ssl_certificate {site.certificates}/server.pem;\n"
        f"        ssl_certificate_key {site.certificates}/server-key.pem;\n"
        f"        ssl_session_cache shared:tls:16m;\n        root {site.folder}/{SITE};\n"
        f"{_files()}{_pages(site)}    }}\n",
    )


def _files() -> str:
    return "".join(f"        location {place} {{ }}\n" for place in FILES)


def _pages(site: WebSite) -> str:
    told = {name: f"${name.lower()}" for name in TOLD} | {
        "SCRIPT_FILENAME": f"{site.folder}/{PAGES}/index.php",
        "LOADSTONE_BACKEND": str(site.backend),
        "LOADSTONE_FILES": f"{site.folder}/{SITE}",
    }
    words = "".join(f"            fastcgi_param {name} {value};\n" for name, value in told.items())
    return (
        "        location / {\n            fastcgi_pass php;\n            fastcgi_keep_conn on;\n"
        f"            fastcgi_buffers 40 4k;\n{words}        }}\n"
    )


KIND = ServiceKind(
    "nginx-php",
    ServiceRole.WEB,
    program,
    8080,
    needs={"/usr/sbin/nginx": "nginx-light", "/usr/sbin/php-fpm*": "php-fpm"},
)
