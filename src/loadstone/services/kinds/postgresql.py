"""PostgreSQL as an ordinary process with all its data in one private folder."""

import shlex
from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.model.service import ServiceRole, Tuning
from loadstone.model.target import Endpoint
from loadstone.services.kind import Program, ServiceKind, Site, local
from loadstone.services.settings import resolve_settings
from loadstone.services.unprivileged import NOT_ROOT, shell

USER, DATABASE = "loadstone", "postgres"
PROGRAMS = 'PATH="$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1):$PATH"; export PATH'
"""Debian keeps the programs of each version in a folder of its own."""
CONNECTIONS = 64
DATA = "postgresql"
NAME = "postgresql"
"""Of its settings."""
_Size = Annotated[str, Field(pattern=r"^[0-9]{1,9}(kB|MB|GB)$")]


class PostgresqlSettings(Section):
    """Settings of PostgreSQL; those that are unset are as distributed. The names are its own."""

    max_connections: int = Field(default=CONNECTIONS, ge=10, le=10_000, description="connections at once, at most")
    shared_buffers: _Size | None = Field(default=None, description="memory for cached pages, such as 1GB")
    effective_cache_size: _Size | None = Field(
        default=None, description="size of all caches that the planner assumes, such as 4GB"
    )
    work_mem: _Size | None = Field(default=None, description="memory of a sort or hash, such as 16MB")
    maintenance_work_mem: _Size | None = Field(default=None, description="memory of maintenance, such as 256MB")
    wal_buffers: _Size | None = Field(default=None, description="memory for log that is not yet written, such as 16MB")
    max_wal_size: _Size | None = Field(default=None, description="log between two checkpoints at most, such as 4GB")
    checkpoint_timeout: Annotated[str, Field(pattern=r"^[0-9]{1,5}(s|min|h)$")] | None = Field(
        default=None, description="time between two checkpoints at most, such as 15min"
    )
    synchronous_commit: Literal["on", "off", "local"] | None = Field(
        default=None, description="when a commit is acknowledged; `off` may lose the last ones in a crash"
    )
    huge_pages: Literal["on", "off", "try"] | None = Field(default=None, description="whether huge pages are used")
    random_page_cost: float | None = Field(default=None, ge=0, le=1e6, description="planner's cost of a random page")

    def list_options(self) -> list[str]:
        """Options of the server's command line."""
        chosen = self.model_dump(exclude_none=True)
        return [option for name, value in chosen.items() for option in ("-c", f"{name}={value}")]


SETTINGS = {tuning: PostgresqlSettings() for tuning in Tuning}


def program(site: Site) -> Program:
    """An empty database is made first."""
    data = f"{site.folder}/{DATA}"
    server = ["postgres", "-D", data, "-h", site.listen, "-p", str(site.port), "-k", ""]
    server += resolve_settings(site, NAME, SETTINGS).list_options()
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
    settings={NAME: SETTINGS},
    needs={"/usr/lib/postgresql/*/bin/initdb": "postgresql"},
)
