"""nginx as balancer: users are dealt by a cookie that it gives each, and stay where they are."""

from loadstone.model.service import ServiceRole
from loadstone.services import nginx
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.unprivileged import shell

KEPT = 256
"""Connections to the web servers that each worker keeps."""


def program(site: Site) -> Program:
    """In the foreground."""
    texts = {nginx.CONFIGURATION: configuration(site)}
    return Program(shell(nginx.serving(site)), texts, status=nginx.STATUS_SOURCES, version=shell(nginx.VERSION))


def configuration(site: Site) -> str:
    """The open nginx has no cookie that names a server: it hashes one that names the user."""
    servers = "".join(f" server {server.host}:{server.port};" for server in site.servers)
    upstream = f"    upstream dealt {{ hash $uid_got$uid_set consistent;{servers} keepalive {KEPT}; }}\n"
    passing = (
        "userid on; userid_name dealt; location / { proxy_pass http://dealt; proxy_http_version 1.1; "
        'proxy_set_header Connection ""; proxy_set_header Host $http_host; }\n'
    )
    return nginx.http(site, upstream + nginx.http_and_tls(site, passing))


KIND = ServiceKind(
    "nginx", ServiceRole.BALANCER, program, 8080, has_tls=True, needs=nginx.NEEDS, settings={nginx.NAME: nginx.SETTINGS}
)
