"""PostgreSQL as an ordinary process with all its data in one private folder."""

import shlex
from dataclasses import dataclass

from loadstone.services.unprivileged import NOT_ROOT, shell

PORT = 5432
"""Where it listens on a machine of its own."""
USER, DATABASE = "loadstone", "postgres"
PROGRAMS = 'PATH="$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1):$PATH"; export PATH'
"""Debian keeps the programs of each version in a folder of its own."""
CONNECTIONS = 64


@dataclass(frozen=True)
class Postgresql:
    """How one server runs; all its files are below `folder`."""

    folder: str
    listen: str
    port: int

    @property
    def _data(self) -> str:
        return f"{self.folder}/postgresql"

    @property
    def preparing(self) -> list[str]:
        """Makes an empty database; ends when it is done. Everyone on its private network is trusted."""
        words = ["initdb", "-D", self._data, "-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"]
        trust = f"echo 'host all all 0.0.0.0/0 trust' >> {shlex.quote(self._data + '/pg_hba.conf')}"
        return shell(f"{PROGRAMS}; {shlex.join([*NOT_ROOT, *words])} > /dev/null && {trust}")

    @property
    def command(self) -> list[str]:
        """How it is started, in the foreground."""
        words = ["postgres", "-D", self._data, "-h", self.listen, "-p", str(self.port), "-k", ""]
        words += ["-c", f"max_connections={CONNECTIONS}"]
        return shell(f"{PROGRAMS}; exec {shlex.join([*NOT_ROOT, *words])}")

    @property
    def waiting(self) -> list[str]:
        """Ends when it answers."""
        host = "127.0.0.1" if self.listen == "0.0.0.0" else self.listen
        asking = shlex.join(["pg_isready", "-q", "-h", host, "-p", str(self.port)])
        return shell(f"{PROGRAMS}; n=0; until {asking}; do n=$((n+1)); [ $n -lt 300 ] || exit 1; sleep 0.1; done")


def url(host: str, port: int) -> str:
    """What the application is told."""
    return f"postgresql://{USER}@{host}:{port}/{DATABASE}"
