"""PostgreSQL as an ordinary process with all its data in one private folder."""

import shlex

from loadstone.model.service import ServiceRole
from loadstone.model.target import Endpoint
from loadstone.services.kind import Program, ServiceKind, Site, local
from loadstone.services.unprivileged import NOT_ROOT, shell

USER, DATABASE = "loadstone", "postgres"
PROGRAMS = 'PATH="$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1):$PATH"; export PATH'
"""Debian keeps the programs of each version in a folder of its own."""
CONNECTIONS = 64
DATA = "postgresql"


def program(site: Site) -> Program:
    """An empty database is made first."""
    data = f"{site.folder}/{DATA}"
    server = ["postgres", "-D", data, "-h", site.listen, "-p", str(site.port), "-k", ""]
    server += ["-c", f"max_connections={CONNECTIONS}"]
    command = shell(f"{PROGRAMS}; exec {shlex.join([*NOT_ROOT, *server])}")
    version = shell(f"{PROGRAMS}; postgres --version")
    return Program(command, prepare=[_preparing(data)], wait=_waiting(site), version=version)


def _preparing(data: str) -> list[str]:
    """Everyone on its private network is trusted."""
    installer = ["initdb", "-D", data, "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"]
    trust = f"echo 'host all all 0.0.0.0/0 trust' >> {shlex.quote(data + '/pg_hba.conf')}"
    return shell(f"{PROGRAMS}; {shlex.join([*NOT_ROOT, *installer])} > /dev/null && {trust}")


def _waiting(site: Site) -> list[str]:
    asking = shlex.join(["pg_isready", "-q", "-h", local(site.listen), "-p", str(site.port)])
    return shell(f"{PROGRAMS}; n=0; until {asking}; do n=$((n+1)); [ $n -lt 300 ] || exit 1; sleep 0.1; done")


def url(endpoint: Endpoint) -> str:
    """What the application is told."""
    return f"postgresql://{USER}@{endpoint.host}:{endpoint.port}/{DATABASE}"


KIND = ServiceKind(
    "postgresql",
    ServiceRole.DATABASE,
    program,
    5432,
    url,
    DATA,
    counts=True,
    needs={"/usr/lib/postgresql/*/bin/initdb": "postgresql"},
)
