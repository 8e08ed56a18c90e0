"""PostgreSQL as an ordinary process with all its data in one private folder."""

import shlex
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.model.service import ServiceRole, Tuning
from loadstone.model.target import Endpoint
from loadstone.services.kind import Program, ServiceKind, Site, get_local_address
from loadstone.services.listening import render_wait
from loadstone.services.settings import resolve_settings
from loadstone.services.unprivileged import NOT_ROOT, build_shell_command

POSTGRESQL_USER, POSTGRESQL_DATABASE = "loadstone", "postgres"
POSTGRESQL_PATH = 'PATH="$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1):$PATH"; export PATH'
"""Debian keeps the programs of each version in a folder of its own."""
POSTGRESQL_CONNECTIONS = 64
POSTGRESQL_DATA = "postgresql"
POSTGRESQL_NAME = "postgresql"
"""Of its settings."""
_Size = Annotated[str, Field(pattern=r"^[0-9]{1,9}(kB|MB|GB)$")]


class PostgresqlSettings(Section):
    """Settings of PostgreSQL; those that are unset are as distributed. The names are its own."""

    max_connections: int = Field(
        default=POSTGRESQL_CONNECTIONS, ge=10, le=10_000, description="connections at once, at most"
    )
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


PostgresqlDefaults = Mapping[Tuning, PostgresqlSettings]
POSTGRESQL_SETTINGS: PostgresqlDefaults = {tuning: PostgresqlSettings() for tuning in Tuning}


def build_program(site: Site, usual: PostgresqlDefaults = POSTGRESQL_SETTINGS) -> Program:
    """An empty database is made first."""
    data = f"{site.folder}/{POSTGRESQL_DATA}"
    server = ["postgres", "-D", data, "-h", site.listen, "-p", str(site.port), "-k", ""]
    server += resolve_settings(site, POSTGRESQL_NAME, usual).list_options()
    command = build_shell_command(f"{POSTGRESQL_PATH}; exec {shlex.join([*NOT_ROOT, *server])}")
    version = build_shell_command(f"{POSTGRESQL_PATH}; postgres --version")
    return Program(command, prepare=[_preparing(data)], wait=_waiting(site), version=version)


def _preparing(data: str) -> list[str]:
    """Everyone on its private network is trusted."""
    installer = ["initdb", "-D", data, "-U", POSTGRESQL_USER, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"]
    trust = f"echo 'host all all 0.0.0.0/0 trust' >> {shlex.quote(data + '/pg_hba.conf')}"
    return build_shell_command(f"{POSTGRESQL_PATH}; {shlex.join([*NOT_ROOT, *installer])} > /dev/null && {trust}")


def _waiting(site: Site) -> list[str]:
    asking = shlex.join(["pg_isready", "-q", "-h", get_local_address(site.listen), "-p", str(site.port)])
    return build_shell_command(f"{POSTGRESQL_PATH}; {render_wait(asking)}")


def format_url(endpoint: Endpoint) -> str:
    """Returns the database's address for the application."""
    return f"postgresql://{POSTGRESQL_USER}@{endpoint.host}:{endpoint.port}/{POSTGRESQL_DATABASE}"


KIND = ServiceKind(
    "postgresql",
    ServiceRole.DATABASE,
    build_program,
    5432,
    format_url,
    POSTGRESQL_DATA,
    counts=True,
    settings={POSTGRESQL_NAME: POSTGRESQL_SETTINGS},
    needs={"/usr/lib/postgresql/*/bin/initdb": "postgresql"},
)
