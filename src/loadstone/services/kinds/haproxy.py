"""HAProxy as balancer: users are dealt in turn, and stay where they are by a cookie of its own."""

from loadstone.model.service import ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.unprivileged import build_shell_command

HAPROXY_PROGRAM = "/usr/sbin/haproxy"
HAPROXY_CONFIGURATION, HAPROXY_CERTIFICATE = "haproxy.conf", "haproxy.pem"
HAPROXY_CONNECTIONS = 8192
"""Each takes two open files, and hosts that allow no more than 20,000 are common."""


def build_program(site: Site) -> Program:
    """Returns HAProxy in the foreground. Certificate and key are in one file."""
    parts = f"{site.certificates}/server.pem {site.certificates}/server-key.pem"
    joining = build_shell_command(f"cat {parts} > {site.folder}/{HAPROXY_CERTIFICATE}")
    command = [HAPROXY_PROGRAM, "-db", "-f", f"{site.folder}/{HAPROXY_CONFIGURATION}"]
    return Program(
        command,
        {HAPROXY_CONFIGURATION: render_configuration(site)},
        [joining],
        version=build_shell_command(f"{HAPROXY_PROGRAM} -v | head -n 1"),
    )


def render_configuration(site: Site) -> str:
    """TLS ends here; idle users are kept longer than they think (150 s)."""
    servers = "".join(
        f"    server s{number} {server.host}:{server.port} cookie s{number}\n"
        for number, server in enumerate(site.servers, start=1)
    )
    return (
        f"global\n    maxconn {HAPROXY_CONNECTIONS}\n    nbthread {site.threads}\n"
        "defaults\n    mode http\n    timeout connect 5s\n    timeout client 180s\n    timeout server 60s\n"
        f"frontend users\n    bind {site.listen}:{site.port} backlog 4096\n"
        f"    bind {site.listen}:{site.tls_port} backlog 4096 ssl crt {site.folder}/{HAPROXY_CERTIFICATE}\n"
        "    default_backend servers\nbackend servers\n    balance roundrobin\n"
        f"    cookie dealt insert indirect nocache\n{servers}"
    )


KIND = ServiceKind(
    "haproxy", ServiceRole.BALANCER, build_program, 8080, has_tls=True, needs={HAPROXY_PROGRAM: "haproxy"}
)
