"""MariaDB as an ordinary process with all its data in one private folder."""

import shlex

from loadstone.model.service import ServiceRole
from loadstone.model.target import Endpoint
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.unprivileged import NOT_ROOT, shell

PROGRAM, INSTALLER = "/usr/sbin/mariadbd", "/usr/bin/mariadb-install-db"
USER, DATABASE, FIRST = "loadstone", "loadstone", "mariadb-first.sql"
CONNECTIONS = 64
DATA = "mariadb"
SETTINGS = {
    "skip-name-resolve": "1",
    "max-connections": str(CONNECTIONS),
    # Who only looks whether it is there counts as a broken connection, and after a hundred would be shut out.
    "max-connect-errors": "1000000",
    "character-set-server": "utf8mb4",
}


def program(site: Site) -> Program:
    """An empty database is made first; its user and database with its first start."""
    data = f"{site.folder}/{DATA}"
    settings = {"datadir": data, "socket": f"{site.folder}/mariadb.sock", "init-file": f"{site.folder}/{FIRST}"}
    settings |= {"bind-address": site.listen, "port": str(site.port), **SETTINGS}
    server = [PROGRAM, "--no-defaults", *(f"--{name}={value}" for name, value in settings.items())]
    installing = [INSTALLER, "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"]
    return Program(
        shell(f"exec {shlex.join([*NOT_ROOT, *server])}"),
        {FIRST: first_statements()},
        [shell(f"{shlex.join([*NOT_ROOT, *installing, '--skip-test-db'])} > /dev/null")],
        version=[PROGRAM, "--version"],
    )


def first_statements() -> str:
    """Everyone on its private network is trusted."""
    return (
        f"CREATE DATABASE IF NOT EXISTS {DATABASE};\nCREATE USER IF NOT EXISTS {USER}@'%';\n"
        f"GRANT ALL ON {DATABASE}.* TO {USER}@'%';\n"
    )


def url(endpoint: Endpoint) -> str:
    """What the application is told."""
    return f"mysql://{USER}@{endpoint.host}:{endpoint.port}/{DATABASE}"


KIND = ServiceKind(
    "mariadb",
    ServiceRole.DATABASE,
    program,
    3306,
    url,
    DATA,
    counts=True,
    needs={PROGRAM: "mariadb-server-core", "/usr/bin/my_print_defaults": "mariadb-client-core"},
)
