"""PHP: the pages of bank, shop and support site with what they are told of their workloads, and its process manager."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from loadstone.model.errors import ServiceError
from loadstone.model.service import ServiceRole, Tuning
from loadstone.services.declared import declared_pages
from loadstone.services.kind import Site
from loadstone.services.sites import SITE
from loadstone.services.status import PHP_STATUS, StatusSource
from loadstone.services.status import php as read_status
from loadstone.services.unprivileged import shell

PAGES, SESSIONS, SOCKET = "php", "sessions", "php.sock"
"""Of a machine: the folders of the pages and of what is known of visitors; where PHP listens."""
FPM_CONFIGURATION = "php-fpm.conf"
PROGRAM = "$(ls /usr/sbin/php-fpm* | tail -n 1)"
"""Debian's program has its version in its name."""
VERSION = f"{PROGRAM} --version | head -n 1"
STATUS_SOURCES = {"php": StatusSource(f"{PHP_STATUS}?json", read_status)}
NEEDS_FPM = {"/usr/sbin/php-fpm*": "php-fpm"}


@dataclass(frozen=True)
class FpmSettings:
    """What is tuned of the process manager."""

    pool: str
    """Lines that say how many children there are."""
    children: int
    """Requests at once, at most."""
    waiting: int
    """Connections that may wait for a child."""
    ini: Mapping[str, str]


SETTINGS = {
    # Debian's www.conf; but more may wait, as at all servers here.
    Tuning.DEFAULT: FpmSettings(
        "pm = dynamic\npm.start_servers = 2\npm.min_spare_servers = 1\npm.max_spare_servers = 3\n", 5, 4096, {}
    ),
    # Children, all from the start, requests of each and those that wait, as the web server's sizing tests had them
    # (table 6-12); sources are not looked at again once compiled (php.net, OPcache).
    Tuning.TUNED: FpmSettings(
        "pm = static\npm.max_requests = 20000\n", 128, 8192, {"opcache.validate_timestamps": "0", "opcache.enable": "1"}
    ),
}


def pages() -> dict[str, str]:
    """The pages' files by their names below a machine's folder."""
    sources = [file for file in files("loadstone.suts").joinpath("php").iterdir() if file.name.endswith(".php")]
    return {f"{PAGES}/{file.name}": file.read_text() for file in sources} | {f"{PAGES}/facts.php": facts()}


def facts() -> str:
    """What workloads declare of their pages, as PHP."""
    rows = [
        f"    '{name}' => ['bytes' => {page['bytes']}, 'links' => {json.dumps(page['links'])}],\n"
        for name, page in declared_pages().items()
    ]
    return "<?php\n// Made from the workloads' declarations.\n\nreturn [\n" + "".join(rows) + "];\n"


def page_environment(site: Site) -> dict[str, str]:
    """What the pages find in their environment."""
    return {"LOADSTONE_BACKEND": site.peers[ServiceRole.BACKEND], "LOADSTONE_FILES": f"{site.folder}/{SITE}"}


def ini(folder: str, tuning: Tuning) -> dict[str, str]:
    """PHP's settings, wherever it runs."""
    return {
        "session.save_path": f"{folder}/{SESSIONS}",
        "session.gc_probability": "0",
        "session.lazy_write": "1",
        "session.cache_limiter": "",  # the reference server's pages have no such fields either
        "session.sid_length": "32",
        "session.sid_bits_per_character": "5",
        "display_errors": "0",
        "log_errors": "1",
        **SETTINGS[tuning].ini,
    }


def kept_connections(tuning: Tuning, askers: int) -> int:
    """Connections to PHP that each of so many processes may keep, of the children there are. A child serves one
    connection until that ends: were all of them kept, users whose requests need a new one would wait for ever, so half
    of the children are left for those. Raises ServiceError when there are too few.
    """
    spare = SETTINGS[tuning].children // 2
    if askers > spare:
        raise ServiceError(
            f"{askers} server processes that keep connections to {2 * spare} PHP children would starve each other. "
            f"Use at most {spare} threads."
        )
    return spare // askers


def manager(site: Site) -> list[str]:
    """Starts PHP's process manager in the foreground."""
    return shell(f"exec {PROGRAM} --nodaemonize --allow-to-run-as-root --fpm-config {site.folder}/{FPM_CONFIGURATION}")


def manager_configuration(site: Site) -> str:
    """Of PHP's process manager, as the user that starts it."""
    settings = SETTINGS[site.tuning]
    values = "".join(f"php_admin_value[{name}] = {value}\n" for name, value in ini(site.folder, site.tuning).items())
    return (
        f"[global]\ndaemonize = no\nerror_log = /dev/stderr\npid = {site.folder}/php-fpm.pid\n"
        f"[sites]\nuser = root\ngroup = root\nlisten = {site.folder}/{SOCKET}\nlisten.backlog = {settings.waiting}\n"
        f"listen.mode = 0666\npm.status_path = {PHP_STATUS}\npm.max_children = {settings.children}\n{settings.pool}"
        f"catch_workers_output = yes\n{values}"
    )


def manager_is_there(site: Site) -> str:
    """Words of a shell that wait for PHP: a server without it would answer, and with errors."""
    return f"n=0; until [ -S {site.folder}/{SOCKET} ]; do n=$((n+1)); [ $n -lt 300 ] || exit 1; sleep 0.1; done"
