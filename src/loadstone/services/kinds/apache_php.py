"""Apache with PHP behind it over FastCGI: pages by PHP's process manager, files by Apache itself."""

from loadstone.model.service import ServiceRole
from loadstone.services import apache, apache_php, php
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.sites import file_commands
from loadstone.services.unprivileged import shell


def program(site: Site) -> Program:
    """Both in the foreground."""
    texts = {apache.CONFIGURATION: configuration(site), php.FPM_CONFIGURATION: php.manager_configuration(site)}
    return Program(
        shell(f"{php.manager_is_there(site)}; {apache.serving(site)}"),
        {**texts, **php.pages()},
        file_commands(site, php.SESSIONS),
        {"php": php.manager(site)},
        status={**apache.STATUS_SOURCES, **php.STATUS_SOURCES},
        version=shell(f"{apache.VERSION}; {php.VERSION}"),
    )


def configuration(site: Site) -> str:
    """With threads, which PHP's own processes allow."""
    handler, lines = apache.php_handler(site)
    extra = f"{lines}{apache.php_status(handler)}"
    return apache_php.configuration(site, apache.find_event_pool(site), ("proxy", "proxy_fcgi"), handler, extra)


KIND = ServiceKind(
    "apache-php",
    ServiceRole.WEB,
    program,
    8080,
    has_tls=True,
    reads_files=True,
    needs={**apache.NEEDS, **php.NEEDS_FPM},
    is_tuned=True,
    settings={apache.NAME: apache.SETTINGS, apache.EVENT_NAME: apache.EVENT, php.NAME: php.SETTINGS},
)
