"""memcached as an ordinary process, for answers that an application keeps."""

import shlex

from loadstone.model.service import ServiceRole
from loadstone.model.target import Endpoint
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.unprivileged import NOT_ROOT, build_shell_command

MEMCACHED_PROGRAM = "/usr/bin/memcached"
MEMCACHED_MEMORY_MIB, MEMCACHED_CONNECTIONS = 64, 1024
"""The program's own (memcached.org, its manual page)."""


def build_program(site: Site) -> Program:
    """Over TCP alone: its datagrams are a known means of attack."""
    server = [MEMCACHED_PROGRAM, "-l", site.listen, "-p", str(site.port), "-U", "0", "-t", str(site.threads)]
    server += ["-m", str(MEMCACHED_MEMORY_MIB), "-c", str(MEMCACHED_CONNECTIONS)]
    return Program(
        build_shell_command(f"exec {shlex.join([*NOT_ROOT, *server])}"),
        first_words=b"version\r\n",
        version=[MEMCACHED_PROGRAM, "--version"],
    )


def format_url(endpoint: Endpoint) -> str:
    """Returns the cache's address for the application."""
    return f"memcached://{endpoint}"


KIND = ServiceKind(
    "memcached", ServiceRole.CACHE, build_program, 11211, format_url, needs={MEMCACHED_PROGRAM: "memcached"}
)
