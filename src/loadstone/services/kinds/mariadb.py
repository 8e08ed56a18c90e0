"""MariaDB as an ordinary process with all its data in one private folder."""

import shlex
from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.model.service import ServiceRole, Tuning
from loadstone.model.target import Endpoint
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.settings import resolve_settings
from loadstone.services.unprivileged import NOT_ROOT, build_shell_command

MARIADB_PROGRAM, INSTALLER = "/usr/sbin/mariadbd", "/usr/bin/mariadb-install-db"
MARIADB_USER, MARIADB_DATABASE, MARIADB_FIRST_FILE = "loadstone", "loadstone", "mariadb-first.sql"
MARIADB_CONNECTIONS = 64
MARIADB_DATA = "mariadb"
MARIADB_NAME = "mariadb"
"""Of its settings."""
_Size = Annotated[str, Field(pattern=r"^[0-9]{1,9}[KMG]?$")]


class MariadbSettings(Section):
    """Settings of MariaDB; those that are unset are as distributed. The names are its own."""

    max_connections: int = Field(
        default=MARIADB_CONNECTIONS, ge=10, le=100_000, description="connections at once, at most"
    )
    innodb_buffer_pool_size: _Size | None = Field(default=None, description="memory for cached pages, such as 1G")
    innodb_log_file_size: _Size | None = Field(default=None, description="size of the log, such as 512M")
    innodb_log_buffer_size: _Size | None = Field(
        default=None, description="memory for log that is not yet written, such as 16M"
    )
    innodb_flush_log_at_trx_commit: Literal[0, 1, 2] | None = Field(
        default=None, description="1: a commit is on disk before it is acknowledged; 0 and 2 may lose the last ones"
    )
    innodb_flush_method: Literal["fsync", "O_DSYNC", "O_DIRECT", "O_DIRECT_NO_FSYNC"] | None = Field(
        default=None, description="how files are written"
    )
    innodb_io_capacity: int | None = Field(default=None, ge=100, description="writes a second in the background")
    thread_cache_size: int | None = Field(default=None, ge=0, le=16_384, description="threads kept for connections")
    table_open_cache: int | None = Field(default=None, ge=1, le=1 << 20, description="open tables at most")
    tmp_table_size: _Size | None = Field(default=None, description="largest temporary table in memory, such as 64M")

    def list_options(self) -> dict[str, str]:
        """Options of the server's command line."""
        return {name.replace("_", "-"): str(value) for name, value in self.model_dump(exclude_none=True).items()}


MARIADB_SETTINGS = {tuning: MariadbSettings() for tuning in Tuning}
ALWAYS_SET = {
    "skip-name-resolve": "1",
    # Who only looks whether it is there counts as a broken connection, and after a hundred would be shut out.
    "max-connect-errors": "1000000",
    "character-set-server": "utf8mb4",
}


def build_program(site: Site) -> Program:
    """An empty database is made first; its user and database with its first start."""
    data = f"{site.folder}/{MARIADB_DATA}"
    settings = {
        "datadir": data,
        "socket": f"{site.folder}/mariadb.sock",
        "init-file": f"{site.folder}/{MARIADB_FIRST_FILE}",
    }
    settings |= {"bind-address": site.listen, "port": str(site.port), **ALWAYS_SET}
    settings |= resolve_settings(site, MARIADB_NAME, MARIADB_SETTINGS).list_options()
    server = [MARIADB_PROGRAM, "--no-defaults", *(f"--{name}={value}" for name, value in settings.items())]
    installing = [INSTALLER, "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"]
    return Program(
        build_shell_command(f"exec {shlex.join([*NOT_ROOT, *server])}"),
        {MARIADB_FIRST_FILE: render_first_statements()},
        [build_shell_command(f"{shlex.join([*NOT_ROOT, *installing, '--skip-test-db'])} > /dev/null")],
        version=[MARIADB_PROGRAM, "--version"],
    )


def render_first_statements() -> str:
    """Everyone on its private network is trusted."""
    return (
        f"CREATE DATABASE IF NOT EXISTS {MARIADB_DATABASE};\nCREATE USER IF NOT EXISTS {MARIADB_USER}@'%';\n"
        f"GRANT ALL ON {MARIADB_DATABASE}.* TO {MARIADB_USER}@'%';\n"
    )


def format_url(endpoint: Endpoint) -> str:
    """Returns the database's address for the application."""
    return f"mysql://{MARIADB_USER}@{endpoint.host}:{endpoint.port}/{MARIADB_DATABASE}"


KIND = ServiceKind(
    "mariadb",
    ServiceRole.DATABASE,
    build_program,
    3306,
    format_url,
    MARIADB_DATA,
    counts=True,
    settings={MARIADB_NAME: MARIADB_SETTINGS},
    needs={MARIADB_PROGRAM: "mariadb-server-core", "/usr/bin/my_print_defaults": "mariadb-client-core"},
)
