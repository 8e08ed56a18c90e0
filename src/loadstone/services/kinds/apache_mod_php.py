"""Apache with PHP in its own processes: pages and files by the same."""

from loadstone.model.service import ServiceRole
from loadstone.services import apache, apache_php, mod_php, php
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.sites import build_file_commands
from loadstone.services.unprivileged import build_shell_command


def build_program(site: Site) -> Program:
    """Returns Apache with the module for PHP, in the foreground."""
    return Program(
        build_shell_command(f"{mod_php.render_link(site)}; {apache.render_start(site)}"),
        {apache.APACHE_CONFIGURATION: render_configuration(site), **php.read_pages()},
        build_file_commands(site, php.SESSIONS),
        status=apache.APACHE_STATUS_SOURCES,
        version=build_shell_command(f"{apache.APACHE_VERSION}; {mod_php.MOD_PHP_VERSION}"),
    )


def render_configuration(site: Site) -> str:
    """PHP is no program that threads could share, so each request has a process."""
    pool, loaded = apache.find_prefork_pool(site), mod_php.render_load(site)
    return apache_php.render_configuration(site, pool, (), mod_php.MOD_PHP_TYPE, loaded)


KIND = ServiceKind(
    "apache-mod-php",
    ServiceRole.WEB,
    build_program,
    8080,
    has_tls=True,
    reads_files=True,
    needs={**apache.APACHE_NEEDS, **mod_php.MOD_PHP_NEEDS},
    is_tuned=True,
    settings={
        apache.APACHE_NAME: apache.APACHE_SETTINGS,
        apache.PREFORK_NAME: apache.PREFORK,
        php.PHP_NAME: php.PHP_SETTINGS,
    },
)
