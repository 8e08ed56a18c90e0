"""The reference server as a web server alone, with the settings that published sizing tests had."""

from dataclasses import dataclass

from loadstone.model.machine import SERVER
from loadstone.model.service import EMBEDDED, Mechanism, ServiceRole, Tuning
from loadstone.services import php
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.mechanisms import CGI, NEEDS_COMPILER, NEEDS_PERL, PROGRAMS, SITE, build_commands, sources
from loadstone.services.unprivileged import shell


@dataclass(frozen=True)
class ReferenceSettings:
    """What is tuned: file cache, processes that start programs, kept connections to PHP."""

    entries: int
    cache_bytes: int
    file_bytes: int
    age_s: int
    stubs: tuple[int, int, int]
    """Least, most, and seconds after which one that is idle ends."""


SETTINGS = {
    # Tables 6-3, 6-7 and 6-9 of the published tests.
    Tuning.DEFAULT: ReferenceSettings(1024, 10_485_760, 524_288, 30, (0, 16, 30)),
    # The same; of their heap of 8 GB a sixteenth.
    Tuning.TUNED: ReferenceSettings(1_048_576, 500_000_000, 1_200_000, 3600, (100, 100, 1000)),
}


def program(site: Site) -> Program:
    """Over HTTP and TLS; PHP beside it where it is asked for."""
    texts, steps = sources(site), build_commands(site)
    if site.mechanism is not Mechanism.PHP_FASTCGI:
        return Program(_command(site), texts, steps)
    texts[php.FPM_CONFIGURATION] = php.manager_configuration(site)
    return Program(_command(site), texts, steps, {"php": php.manager(site)}, version=shell(php.VERSION))


def _command(site: Site) -> list[str]:
    settings = SETTINGS[site.tuning]
    min_stubs, max_stubs, idle_s = settings.stubs
    options = {
        "--listen": f"{site.listen}:{site.port}",
        "--listen-tls": f"{site.listen}:{site.tls_port}",
        "--certificates": site.certificates,
        "--threads": site.threads,
        "--folder": f"{site.folder}/{SITE}",
        "--cache-entries": settings.entries,
        "--cache-bytes": settings.cache_bytes,
        "--cache-file-bytes": settings.file_bytes,
        "--cache-age": settings.age_s,
        "--least-stubs": min_stubs,
        "--most-stubs": max_stubs,
        "--stub-idle": idle_s,
    }
    if site.mechanism in CGI:
        options["--program"] = f"{site.folder}/{PROGRAMS}/{CGI[site.mechanism]}"
    if site.mechanism is Mechanism.PHP_FASTCGI:
        options["--php"] = f"{site.folder}/{php.SOCKET}"
        options["--php-kept"] = php.kept_connections(site.tuning, 1) if site.tuning is Tuning.TUNED else 0
    flat = [str(word) for pair in options.items() for word in pair]
    return [SERVER, "webserver", "--until-stdin-ends", *flat]


KIND = ServiceKind(
    EMBEDDED,
    ServiceRole.WEBSERVER,
    program,
    8080,
    has_tls=True,
    mechanisms={
        Mechanism.STATIC: {},
        Mechanism.MODULE: {},
        Mechanism.C_CGI: NEEDS_COMPILER,
        Mechanism.PERL_CGI: NEEDS_PERL,
        Mechanism.PHP_FASTCGI: php.NEEDS_FPM,
    },
    is_tuned=True,
    untuned=frozenset({Mechanism.MODULE}),
)
