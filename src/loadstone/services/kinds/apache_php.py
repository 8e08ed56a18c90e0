"""Apache with PHP behind it over FastCGI: pages by PHP's process manager, files by Apache itself."""

from loadstone.model.service import ServiceRole
from loadstone.services import apache, apache_php, php
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.sites import build_file_commands
from loadstone.services.unprivileged import build_shell_command


def build_program(site: Site) -> Program:
    """Both in the foreground."""
    texts = {
        apache.APACHE_CONFIGURATION: render_configuration(site),
        php.FPM_CONFIGURATION: php.render_manager_configuration(site),
    }
    return Program(
        build_shell_command(f"{php.render_manager_wait(site)}; {apache.render_start(site)}"),
        {**texts, **php.read_pages()},
        build_file_commands(site, php.SESSIONS),
        {"php": php.build_manager_command(site)},
        status={**apache.APACHE_STATUS_SOURCES, **php.PHP_STATUS_SOURCES},
        version=build_shell_command(f"{apache.APACHE_VERSION}; {php.PHP_VERSION}"),
    )


def render_configuration(site: Site) -> str:
    """With threads, which PHP's own processes allow."""
    handler, lines = apache.render_php_handler(site)
    extra = f"{lines}{apache.render_php_status(handler)}"
    return apache_php.render_configuration(site, apache.find_event_pool(site), ("proxy", "proxy_fcgi"), handler, extra)


KIND = ServiceKind(
    "apache-php",
    ServiceRole.WEB,
    build_program,
    8080,
    has_tls=True,
    reads_files=True,
    needs={**apache.APACHE_NEEDS, **php.NEEDS_FPM},
    is_tuned=True,
    settings={
        apache.APACHE_NAME: apache.APACHE_SETTINGS,
        apache.EVENT_NAME: apache.EVENT_SETTINGS,
        php.PHP_NAME: php.PHP_SETTINGS,
    },
)
