"""HAProxy as balancer: users are dealt in turn, and stay where they are by a cookie of its own."""

from loadstone.model.service import ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.unprivileged import shell

PROGRAM = "/usr/sbin/haproxy"
CONFIGURATION, CERTIFICATE = "haproxy.conf", "haproxy.pem"
CONNECTIONS = 8192
"""Each takes two open files, and hosts that allow no more than 20,000 are common."""


def program(site: Site) -> Program:
    """In the foreground; certificate and key stand in one file."""
    parts = f"{site.certificates}/server.pem {site.certificates}/server-key.pem"
    joining = shell(f"cat {parts} > {site.folder}/{CERTIFICATE}")
    command = [PROGRAM, "-db", "-f", f"{site.folder}/{CONFIGURATION}"]
    return Program(command, {CONFIGURATION: configuration(site)}, [joining], version=shell(f"{PROGRAM} -v | head -n 1"))


def configuration(site: Site) -> str:
    """TLS ends here; idle users are kept longer than they think (150 s)."""
    servers = "".join(
        f"    server s{number} {server.host}:{server.port} cookie s{number}\n"
        for number, server in enumerate(site.servers, start=1)
    )
    return (
        f"global\n    maxconn {CONNECTIONS}\n    nbthread {site.threads}\n"
        "defaults\n    mode http\n    timeout connect 5s\n    timeout client 180s\n    timeout server 60s\n"
        f"frontend users\n    bind {site.listen}:{site.port} backlog 4096\n"
        f"    bind {site.listen}:{site.tls_port} backlog 4096 ssl crt {site.folder}/{CERTIFICATE}\n"
        "    default_backend servers\nbackend servers\n    balance roundrobin\n"
        f"    cookie dealt insert indirect nocache\n{servers}"
    )


KIND = ServiceKind("haproxy", ServiceRole.BALANCER, program, 8080, has_tls=True, needs={PROGRAM: "haproxy"})
