"""PHP: the pages of bank, shop and support site with what they are told of their workloads, and its process manager."""

import json
from importlib.resources import files
from typing import Literal, Self

from pydantic import Field, model_validator

from loadstone.model.errors import ServiceError
from loadstone.model.reading import Section
from loadstone.model.service import ServiceRole, Tuning
from loadstone.services.declared import read_declared_pages
from loadstone.services.kind import Site
from loadstone.services.listening import render_wait
from loadstone.services.settings import resolve_settings
from loadstone.services.status import PHP_STATUS, StatusSource
from loadstone.services.status import read_php as read_status
from loadstone.services.unprivileged import build_shell_command

PHP_PAGES, SESSIONS, PHP_SOCKET = "php", "sessions", "php.sock"
"""Of a machine: the folders of the pages and of what is known of visitors; where PHP listens."""
FPM_CONFIGURATION = "php-fpm.conf"
PHP_PROGRAM = "$(ls /usr/sbin/php-fpm* | tail -n 1)"
"""Debian's program has its version in its name."""
PHP_VERSION = f"{PHP_PROGRAM} --version | head -n 1"
PHP_STATUS_SOURCES = {"php": StatusSource(f"{PHP_STATUS}?json", read_status)}
NEEDS_FPM = {"/usr/sbin/php-fpm*": "php-fpm"}


class FpmSettings(Section):
    """Settings of PHP's process manager."""

    children: int = Field(ge=1, le=10_000, description="requests at once, at most: children of the process manager")
    manager: Literal["static", "dynamic"] = Field(
        description="`static`: all children from the start; `dynamic`: as many as are needed"
    )
    start: int = Field(default=2, ge=1, le=10_000, description="children at the start, of a dynamic manager")
    min_spare: int = Field(default=1, ge=1, le=10_000, description="least idle children, of a dynamic manager")
    max_spare: int = Field(default=3, ge=1, le=10_000, description="most idle children, of a dynamic manager")
    max_requests: int = Field(default=0, ge=0, description="requests after which a child is replaced; 0 for never")
    waiting: int = Field(ge=1, le=65_535, description="connections that may wait for a child")
    memory_mib: int = Field(default=128, ge=8, le=65_536, description="most memory of a request, MiB")
    opcache: bool | None = Field(default=None, description="whether compiled pages are kept; unset: as distributed")
    looks_at_sources: bool = Field(
        default=True, description="whether the sources of compiled pages are looked at again"
    )

    @model_validator(mode="after")
    def _spare_children_exist(self) -> Self:
        if self.manager == "dynamic" and not self.min_spare <= self.start <= self.max_spare <= self.children:
            raise ValueError(
                f"a dynamic manager needs min_spare ({self.min_spare}) <= start ({self.start}) <= "
                f"max_spare ({self.max_spare}) <= children ({self.children}); change them together"
            )
        return self

    def list_pool_lines(self) -> str:
        """Returns the lines that say how many children there are."""
        lines = f"pm = {self.manager}\n"
        if self.manager == "dynamic":
            lines += f"pm.start_servers = {self.start}\npm.min_spare_servers = {self.min_spare}\n"
            lines += f"pm.max_spare_servers = {self.max_spare}\n"
        return lines + f"pm.max_requests = {self.max_requests}\n" * bool(self.max_requests)

    @property
    def ini(self) -> dict[str, str]:
        """Settings of the language that differ from the distributed ones."""
        values = {} if self.looks_at_sources else {"opcache.validate_timestamps": "0"}
        if self.opcache is not None:
            values["opcache.enable"] = str(int(self.opcache))
        if self.memory_mib != FpmSettings.model_fields["memory_mib"].default:
            values["memory_limit"] = f"{self.memory_mib}M"
        return values


PHP_SETTINGS = {
    # Debian's www.conf; but more may wait, as at all servers here.
    Tuning.DEFAULT: FpmSettings(manager="dynamic", children=5, waiting=4096),
    # Children, all from the start, requests of each and those that wait, as the web server's sizing tests had them
    # (table 6-12); sources are not looked at again once compiled (php.net, OPcache).
    Tuning.TUNED: FpmSettings(
        manager="static", children=128, waiting=8192, max_requests=20_000, opcache=True, looks_at_sources=False
    ),
}
PHP_NAME = "php"
"""Of its settings."""


def read_pages() -> dict[str, str]:
    """The pages' files by their names below a machine's folder."""
    sources = [file for file in files("loadstone.suts").joinpath("php").iterdir() if file.name.endswith(".php")]
    return {f"{PHP_PAGES}/{file.name}": file.read_text() for file in sources} | {
        f"{PHP_PAGES}/facts.php": render_facts()
    }


def render_facts() -> str:
    """Returns the declarations of the workloads' pages as PHP source."""
    rows = [
        f"    '{name}' => ['bytes' => {page['bytes']}, 'links' => {json.dumps(page['links'])}],\n"
        for name, page in read_declared_pages().items()
    ]
    return "<?php\n// Made from the workloads' declarations.\n\nreturn [\n" + "".join(rows) + "];\n"


def build_page_environment(site: Site) -> dict[str, str]:
    """Returns the environment variables that the pages read."""
    return {"LOADSTONE_BACKEND": site.peers[ServiceRole.BACKEND], "LOADSTONE_FILES": site.document_root}


def find_settings(site: Site) -> FpmSettings:
    """Returns PHP's settings of a site."""
    return resolve_settings(site, PHP_NAME, PHP_SETTINGS)


def build_ini(site: Site) -> dict[str, str]:
    """PHP's settings, wherever it runs."""
    return {
        "session.save_path": f"{site.folder}/{SESSIONS}",
        "session.gc_probability": "0",
        "session.lazy_write": "1",
        "session.cache_limiter": "",  # the reference server's pages have no such fields either
        "session.sid_length": "32",
        "session.sid_bits_per_character": "5",
        "display_errors": "0",
        "log_errors": "1",
        **find_settings(site).ini,
    }


def compute_kept_connections(site: Site, askers: int) -> int:
    """Connections to PHP that each of so many processes may keep, of the children there are. A child serves one
    connection until that ends: were all of them kept, users whose requests need a new one would wait for ever, so half
    of the children are left for those. Raises ServiceError when there are too few.
    """
    spare = find_settings(site).children // 2
    if askers > spare:
        raise ServiceError(
            f"{askers} server processes that keep connections to {2 * spare} PHP children would starve each other. "
            f"Use at most {spare} threads."
        )
    return spare // askers


def build_manager_command(site: Site) -> list[str]:
    """Starts PHP's process manager in the foreground."""
    return build_shell_command(
        f"exec {PHP_PROGRAM} --nodaemonize --allow-to-run-as-root --fpm-config {site.folder}/{FPM_CONFIGURATION}"
    )


def render_manager_configuration(site: Site) -> str:
    """Returns the configuration of PHP's process manager, which runs as the user that starts it."""
    chosen = find_settings(site)
    values = "".join(f"php_admin_value[{name}] = {value}\n" for name, value in build_ini(site).items())
    return (
        f"[global]\ndaemonize = no\nerror_log = /dev/stderr\npid = {site.folder}/php-fpm.pid\n"
        f"[sites]\nuser = root\ngroup = root\nlisten = {site.folder}/{PHP_SOCKET}\nlisten.backlog = {chosen.waiting}\n"
        f"listen.mode = 0666\npm.status_path = {PHP_STATUS}\npm.max_children = {chosen.children}\n"
        f"{chosen.list_pool_lines()}catch_workers_output = yes\n{values}"
    )


def render_manager_wait(site: Site) -> str:
    """Words of a shell that wait for PHP: a server without it would answer, and with errors."""
    return render_wait(f"[ -S {site.folder}/{PHP_SOCKET} ]")
