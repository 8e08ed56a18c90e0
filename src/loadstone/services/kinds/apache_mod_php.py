"""Apache with PHP in its own processes: pages and files by the same."""

from loadstone.model.service import ServiceRole
from loadstone.services import apache, apache_php, mod_php, php
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.sites import file_commands
from loadstone.services.unprivileged import shell


def program(site: Site) -> Program:
    """In the foreground."""
    return Program(
        shell(f"{mod_php.linking(site)}; {apache.serving(site)}"),
        {apache.CONFIGURATION: configuration(site), **php.pages()},
        file_commands(site, php.SESSIONS),
        status=apache.STATUS_SOURCES,
        version=shell(f"{apache.VERSION}; {mod_php.VERSION}"),
    )


def configuration(site: Site) -> str:
    """PHP is no program that threads could share, so each request has a process."""
    pool, loaded = apache.find_prefork_pool(site), mod_php.loading(site)
    return apache_php.configuration(site, pool, (), mod_php.MODULE, loaded)


KIND = ServiceKind(
    "apache-mod-php",
    ServiceRole.WEB,
    program,
    8080,
    has_tls=True,
    reads_files=True,
    needs={**apache.NEEDS, **mod_php.NEEDS},
    is_tuned=True,
    settings={apache.NAME: apache.SETTINGS, apache.PREFORK_NAME: apache.PREFORK, php.NAME: php.SETTINGS},
)
