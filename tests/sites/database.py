"""MariaDB for stock applications: a process of its own with all its data in one folder, ended with its application."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loadstone.host.http import find_free_port
from loadstone.services.kind import Site
from loadstone.services.kinds import mariadb
from tests.sites.program import done, running


@contextmanager
def database_server(folder: Path, statements: str = "") -> Iterator[int]:
    """Starts MariaDB with the user and the database `loadstone`, runs SQL statements and yields the port."""
    data, port = folder / "database", find_free_port()
    data.mkdir()
    program = mariadb.build_program(Site(str(data), "127.0.0.1", port, threads=1))
    for name, text in program.files.items():
        (data / name).write_text(text + statements)
    for command in program.prepare:
        done(command, data)
    with running(program.command, port, data / "database.log"):
        yield port
