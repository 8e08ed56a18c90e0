"""nginx as balancer: users are dealt by a cookie that it gives each, and stay where they are."""

from loadstone.model.service import ServiceRole
from loadstone.services import nginx
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.unprivileged import build_shell_command

KEPT_CONNECTIONS = 256
"""Connections to the web servers that each worker keeps."""


def build_program(site: Site) -> Program:
    """Returns nginx as a balancer, in the foreground."""
    texts = {nginx.NGINX_CONFIGURATION: render_configuration(site)}
    return Program(
        build_shell_command(nginx.render_start(site)),
        texts,
        status=nginx.NGINX_STATUS_SOURCES,
        version=build_shell_command(nginx.NGINX_VERSION),
    )


def render_configuration(site: Site) -> str:
    """The open nginx has no cookie that names a server: it hashes one that names the user."""
    servers = "".join(f" server {server.host}:{server.port};" for server in site.servers)
    upstream = f"    upstream dealt {{ hash $uid_got$uid_set consistent;{servers} keepalive {KEPT_CONNECTIONS}; }}\n"
    passing = (
        "userid on; userid_name dealt; location / { proxy_pass http://dealt; proxy_http_version 1.1; "
        'proxy_set_header Connection ""; proxy_set_header Host $http_host; }\n'
    )
    return nginx.render_http(site, upstream + nginx.render_http_and_tls(site, passing))


KIND = ServiceKind(
    "nginx",
    ServiceRole.BALANCER,
    build_program,
    8080,
    has_tls=True,
    needs=nginx.NGINX_NEEDS,
    settings={nginx.NGINX_NAME: nginx.NGINX_SETTINGS},
)
