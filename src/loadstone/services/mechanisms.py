"""What a web server alone is asked for: where its files and programs are, and how those come there."""

from importlib.resources import files

from loadstone.model.service import Mechanism
from loadstone.services.kind import SITE, Site
from loadstone.services.sites import build_file_commands
from loadstone.services.unprivileged import build_shell_command

PROGRAMS_FOLDER = "programs"
"""Folder of those that are started."""
MECHANISMS_PATH, PHP_PATH = "/printenv", "/phpinfo.php"
PHPINFO = "<?php phpinfo();\n"
CGI = {Mechanism.C_CGI: "printenv", Mechanism.PERL_CGI: "printenv.pl"}
"""Programs, by mechanism."""
NEEDS_COMPILER = {"/usr/bin/cc": "gcc", "/usr/include/stdio.h": "libc6-dev"}
NEEDS_PERL = {"/usr/bin/perl": "perl-base"}


def read_source(name: str) -> str:
    """A program's text."""
    return files("loadstone.suts").joinpath("cgi", name).read_text()


def collect_sources(site: Site) -> dict[str, str]:
    """Files to be written first."""
    if site.mechanism in CGI:
        return {f"{PROGRAMS_FOLDER}/{name}": read_source(name) for name in ("printenv.c", "printenv.pl")}
    if site.mechanism in (Mechanism.PHP_FASTCGI, Mechanism.PHP_MODULE):
        return {f"{SITE}{PHP_PATH}": PHPINFO}
    return {}


def build_commands(site: Site) -> list[list[str]]:
    """Commands that make what is served, once the sources are there."""
    commands = build_file_commands(site)
    programs = f"{site.folder}/{PROGRAMS_FOLDER}"
    match site.mechanism:
        case Mechanism.C_CGI:
            return [*commands, ["cc", "-O2", "-o", f"{programs}/printenv", f"{programs}/printenv.c"]]
        case Mechanism.PERL_CGI:
            return [*commands, build_shell_command(f"chmod 755 {programs}/printenv.pl")]
    return commands
