"""memcached as an ordinary process, for answers that an application keeps."""

import shlex

from loadstone.model.service import ServiceRole
from loadstone.model.target import Endpoint
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.unprivileged import NOT_ROOT, shell

PROGRAM = "/usr/bin/memcached"
MEMORY_MIB, CONNECTIONS = 64, 1024
"""The program's own (memcached.org, its manual page)."""


def program(site: Site) -> Program:
    """Over TCP alone: its datagrams are a known means of attack."""
    server = [PROGRAM, "-l", site.listen, "-p", str(site.port), "-U", "0", "-t", str(site.threads)]
    server += ["-m", str(MEMORY_MIB), "-c", str(CONNECTIONS)]
    return Program(
        shell(f"exec {shlex.join([*NOT_ROOT, *server])}"), first_words=b"version\r\n", version=[PROGRAM, "--version"]
    )


def url(endpoint: Endpoint) -> str:
    """What the application is told."""
    return f"memcached://{endpoint}"


KIND = ServiceKind("memcached", ServiceRole.CACHE, program, 11211, url, needs={PROGRAM: "memcached"})
