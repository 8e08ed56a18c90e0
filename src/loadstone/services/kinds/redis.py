"""Redis as an ordinary process, for answers that an application keeps: nothing is written to disk."""

from loadstone.model.service import ServiceRole
from loadstone.model.target import Endpoint
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.kinds.memcached import MEMCACHED_MEMORY_MIB

REDIS_PROGRAM = "/usr/bin/redis-server"


def build_program(site: Site) -> Program:
    """Bounded as memcached is, and what was not asked for longest goes first (redis.io, key eviction)."""
    settings = {
        "bind": site.listen,
        "port": str(site.port),
        "dir": site.folder,
        "save": "",
        "appendonly": "no",
        "protected-mode": "no",
        "maxmemory": f"{MEMCACHED_MEMORY_MIB}mb",
        "maxmemory-policy": "allkeys-lru",
    }
    options = [argument for name, value in settings.items() for argument in (f"--{name}", value)]
    return Program(
        [REDIS_PROGRAM, *options],
        prepare=[["mkdir", "-p", site.folder]],
        first_words=b"PING\r\n",
        version=[REDIS_PROGRAM, "--version"],
    )


def format_url(endpoint: Endpoint) -> str:
    """Returns the cache's address for the application."""
    return f"redis://{endpoint}"


KIND = ServiceKind("redis", ServiceRole.CACHE, build_program, 6379, format_url, needs={REDIS_PROGRAM: "redis-server"})
