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
    own = {"datadir": data, "socket": f"{site.folder}/mariadb.sock", "init-file": f"{site.folder}/{FIRST}"}
    own |= {"bind-address": site.listen, "port": str(site.port), **SETTINGS}
    words = [PROGRAM, "--no-defaults", *(f"--{name}={value}" for name, value in own.items())]
    installing = [INSTALLER, "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"]
    return Program(
        shell(f"exec {shlex.join([*NOT_ROOT, *words])}"),
        {FIRST: first_words()},
        [shell(f"{shlex.join([*NOT_ROOT, *installing, '--skip-test-db'])} > /dev/null")],
        version=[PROGRAM, "--version"],
    )


def first_words() -> str:
    """Everyone on its private network is trusted."""
    return (
        f"CREATE DATABASE IF NOT EXISTS {DATABASE};\nCREATE USER IF NOT EXISTS {USER}@'%';\n"
        f"GRANT ALL ON {DATABASE}.* TO {USER}@'%';\n"
    )


def url(at: Endpoint) -> str:
    """What the application is told."""
    return f"mysql://{USER}@{at.host}:{at.port}/{DATABASE}"


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
