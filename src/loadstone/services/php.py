"""Bank, shop and support site in PHP: the pages as the package has them, and what they are told of their workloads."""

import json
import subprocess
from functools import cache
from importlib.resources import files

from loadstone.host.programs import server
from loadstone.model.machine import SERVER
from loadstone.services.kind import WebSite

PAGES, SITE, SESSIONS, SOCKET = "php", "site", "sessions", "php.sock"
"""Of a site: the folders of its pages, of its written files and of what is known of visitors; where PHP listens."""
FPM_CONFIGURATION = "php-fpm.conf"
FPM = "exec $(ls /usr/sbin/php-fpm* | tail -n 1)"
"""Debian's program has its version in its name."""
CHILDREN = 24
"""Requests at once; whoever asks keeps no more connections than that, or some would starve."""


def pages() -> dict[str, str]:
    """The pages' files by their names below a site's folder."""
    sources = [file for file in files("loadstone.suts").joinpath("php").iterdir() if file.name.endswith(".php")]
    return {f"{PAGES}/{file.name}": file.read_text() for file in sources} | {f"{PAGES}/facts.php": facts()}


@cache
def facts() -> str:
    """What workloads declare of their pages, as PHP: length and embedded files."""
    declared = json.loads(subprocess.run([server(), "pages"], capture_output=True, text=True, check=True).stdout)
    rows = [
        f"    '{name}' => ['bytes' => {page['bytes']}, 'links' => {json.dumps(page['links'])}],\n"
        for name, page in declared.items()
    ]
    return "<?php\n// Made from the workloads' declarations.\n\nreturn [\n" + "".join(rows) + "];\n"


def preparing(site: WebSite) -> list[list[str]]:
    """Makes the folders, and writes the files."""
    writing = [
        [SERVER, "fileset", name, "--sessions", str(sessions), f"{site.folder}/{SITE}"]
        for name, sessions in site.file_sets.items()
    ]
    return [["mkdir", "-p", f"{site.folder}/{SITE}", f"{site.folder}/{SESSIONS}"], *writing]


def fpm_configuration(site: WebSite) -> str:
    """PHP's process manager: as many children as may be, all from the start, as the user that starts it."""
    return (
        f"[global]\ndaemonize = no\nerror_log = /dev/stderr\npid = {site.folder}/php-fpm.pid\n"
        f"[sites]\nuser = root\ngroup = root\nlisten = {site.folder}/{SOCKET}\nlisten.backlog = 4096\n"
        f"pm = static\npm.max_children = {CHILDREN}\ncatch_workers_output = yes\n"
        f"php_admin_value[session.save_path] = {site.folder}/{SESSIONS}\n"
        "php_admin_value[session.gc_probability] = 0\nphp_admin_value[session.lazy_write] = 1\n"
        "php_admin_flag[display_errors] = off\nphp_admin_flag[log_errors] = on\n"
        "php_admin_value[session.sid_length] = 32\nphp_admin_value[session.sid_bits_per_character] = 5\n"
    )
