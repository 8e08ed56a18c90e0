"""The reference server as a web server alone, with the settings that published sizing tests had."""

from typing import Self

from pydantic import Field, model_validator

from loadstone.model.machine import SERVER
from loadstone.model.reading import Section
from loadstone.model.service import EMBEDDED, Mechanism, ServiceRole, Tuning
from loadstone.services import php
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.mechanisms import (
    CGI,
    NEEDS_COMPILER,
    NEEDS_PERL,
    PROGRAMS_FOLDER,
    build_commands,
    collect_sources,
)
from loadstone.services.settings import resolve_settings
from loadstone.services.unprivileged import build_shell_command


class ReferenceSettings(Section):
    """Settings of the reference web server: file cache, and processes that start programs."""

    entries: int = Field(ge=0, description="files in the cache at most")
    cache_bytes: int = Field(ge=0, description="memory of the file cache, bytes")
    file_bytes: int = Field(ge=0, description="largest file that is cached, bytes")
    age_s: int = Field(ge=0, description="seconds after which a cached file is looked at again")
    min_stubs: int = Field(ge=0, le=10_000, description="least processes that start CGI programs")
    max_stubs: int = Field(ge=1, le=10_000, description="most processes that start CGI programs")
    stub_idle_s: int = Field(ge=1, description="seconds after which an idle one of them ends")

    @model_validator(mode="after")
    def _stubs_have_room(self) -> Self:
        if self.min_stubs > self.max_stubs:
            raise ValueError(f"min_stubs ({self.min_stubs}) must be at most max_stubs ({self.max_stubs})")
        return self


WEBSERVER_SETTINGS = {
    # Tables 6-3, 6-7 and 6-9 of the published tests.
    Tuning.DEFAULT: ReferenceSettings(
        entries=1024,
        cache_bytes=10_485_760,
        file_bytes=524_288,
        age_s=30,
        min_stubs=0,
        max_stubs=16,
        stub_idle_s=30,
    ),
    # The same; of their heap of 8 GB a sixteenth.
    Tuning.TUNED: ReferenceSettings(
        entries=1_048_576,
        cache_bytes=500_000_000,
        file_bytes=1_200_000,
        age_s=3600,
        min_stubs=100,
        max_stubs=100,
        stub_idle_s=1000,
    ),
}
REFERENCE_WEBSERVER_NAME = "webserver"
"""Of its settings."""


def build_program(site: Site) -> Program:
    """Over HTTP and TLS; PHP beside it where it is asked for."""
    texts, steps = collect_sources(site), build_commands(site)
    if site.mechanism is not Mechanism.PHP_FASTCGI:
        return Program(_command(site), texts, steps)
    texts[php.FPM_CONFIGURATION] = php.render_manager_configuration(site)
    return Program(
        _command(site),
        texts,
        steps,
        {"php": php.build_manager_command(site)},
        version=build_shell_command(php.PHP_VERSION),
    )


def _command(site: Site) -> list[str]:
    settings = resolve_settings(site, REFERENCE_WEBSERVER_NAME, WEBSERVER_SETTINGS)
    options = {
        "--listen": f"{site.listen}:{site.port}",
        "--listen-tls": f"{site.listen}:{site.tls_port}",
        "--certificates": site.certificates,
        "--threads": site.threads,
        "--folder": site.document_root,
        "--cache-entries": settings.entries,
        "--cache-bytes": settings.cache_bytes,
        "--cache-file-bytes": settings.file_bytes,
        "--cache-age": settings.age_s,
        "--least-stubs": settings.min_stubs,
        "--most-stubs": settings.max_stubs,
        "--stub-idle": settings.stub_idle_s,
    }
    if site.mechanism in CGI:
        options["--program"] = f"{site.folder}/{PROGRAMS_FOLDER}/{CGI[site.mechanism]}"
    if site.mechanism is Mechanism.PHP_FASTCGI:
        options["--php"] = f"{site.folder}/{php.PHP_SOCKET}"
        options["--php-kept"] = php.compute_kept_connections(site, 1) if site.tuning is Tuning.TUNED else 0
    flat = [str(argument) for pair in options.items() for argument in pair]
    return [SERVER, "webserver", "--until-stdin-ends", *flat]


KIND = ServiceKind(
    EMBEDDED,
    ServiceRole.WEBSERVER,
    build_program,
    8080,
    has_tls=True,
    reads_files=True,
    mechanisms={
        Mechanism.STATIC: {},
        Mechanism.MODULE: {},
        Mechanism.C_CGI: NEEDS_COMPILER,
        Mechanism.PERL_CGI: NEEDS_PERL,
        Mechanism.PHP_FASTCGI: php.NEEDS_FPM,
    },
    is_tuned=True,
    untuned=frozenset({Mechanism.MODULE}),
    settings={REFERENCE_WEBSERVER_NAME: WEBSERVER_SETTINGS, php.PHP_NAME: php.PHP_SETTINGS},
)
