"""Apache alone: files, mod_lua in its process, programs in C and Perl by mod_cgid, PHP over FastCGI and within."""

from loadstone.model.service import Mechanism, ServiceRole
from loadstone.services import apache, mod_php, php
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.mechanisms import (
    CGI,
    MECHANISMS_PATH,
    NEEDS_COMPILER,
    NEEDS_PERL,
    PROGRAMS_FOLDER,
    build_commands,
    collect_sources,
    read_source,
)
from loadstone.services.unprivileged import build_shell_command

LUA = "printenv.lua"


def build_program(site: Site) -> Program:
    """Returns Apache in the foreground."""
    texts = {apache.APACHE_CONFIGURATION: render_configuration(site), **collect_sources(site)}
    match site.mechanism:
        case Mechanism.MODULE:
            texts[LUA] = read_source(LUA)
        case Mechanism.PHP_FASTCGI:
            texts[php.FPM_CONFIGURATION] = php.render_manager_configuration(site)
            command = build_shell_command(f"{php.render_manager_wait(site)}; {apache.render_start(site)}")
            version = build_shell_command(f"{apache.APACHE_VERSION}; {php.PHP_VERSION}")
            sources_of_status = {**apache.APACHE_STATUS_SOURCES, **php.PHP_STATUS_SOURCES}
            return Program(
                command,
                texts,
                build_commands(site),
                {"php": php.build_manager_command(site)},
                status=sources_of_status,
                version=version,
            )
        case Mechanism.PHP_MODULE:
            command = build_shell_command(f"{mod_php.render_link(site)}; {apache.render_start(site)}")
            return Program(
                command,
                texts,
                build_commands(site),
                status=apache.APACHE_STATUS_SOURCES,
                version=build_shell_command(f"{apache.APACHE_VERSION}; {mod_php.MOD_PHP_VERSION}"),
            )
    return Program(
        build_shell_command(apache.render_start(site)),
        texts,
        build_commands(site),
        status=apache.APACHE_STATUS_SOURCES,
        version=build_shell_command(apache.APACHE_VERSION),
    )


def render_configuration(site: Site) -> str:
    """Returns the configuration of one mechanism."""
    root, pool = site.document_root, apache.find_event_pool(site)
    files = f"DocumentRoot {root}\n{apache.render_readable(root)}"
    match site.mechanism:
        case Mechanism.MODULE:
            content = f"LuaMapHandler {MECHANISMS_PATH} {site.folder}/{LUA}\nLuaScope thread\nLuaCodeCache forever\n"
            return apache.render_http(site, pool, ("lua",), files + content)
        case Mechanism.C_CGI | Mechanism.PERL_CGI:
            programs = f"{site.folder}/{PROGRAMS_FOLDER}"
            runs = apache.render_readable(programs, "    Options +ExecCGI\n")
            alias = f"ScriptAlias {MECHANISMS_PATH} {programs}/{CGI[site.mechanism]}\n"
            content = f"ScriptSock {site.folder}/cgid.sock\n{alias}{runs}"
            return apache.render_http(site, pool, ("cgid",), files + content)
        case Mechanism.PHP_FASTCGI:
            handler, lines = apache.render_php_handler(site)
            content = f'<FilesMatch "\\.php$">\n    SetHandler {handler}\n</FilesMatch>\n{lines}'
            content += apache.render_php_status(handler)
            return apache.render_http(site, pool, ("proxy", "proxy_fcgi"), files + content)
        case Mechanism.PHP_MODULE:
            content = f"AddType {mod_php.MOD_PHP_TYPE} .php\n{mod_php.render_load(site)}"
            return apache.render_http(site, apache.find_prefork_pool(site), (), files + content)
    return apache.render_http(site, pool, (), files)


KIND = ServiceKind(
    "apache",
    ServiceRole.WEBSERVER,
    build_program,
    8080,
    has_tls=True,
    reads_files=True,
    needs=apache.APACHE_NEEDS,
    mechanisms={
        Mechanism.STATIC: {},
        Mechanism.MODULE: {},
        Mechanism.C_CGI: NEEDS_COMPILER,
        Mechanism.PERL_CGI: NEEDS_PERL,
        Mechanism.PHP_FASTCGI: php.NEEDS_FPM,
        Mechanism.PHP_MODULE: mod_php.MOD_PHP_NEEDS,
    },
    is_tuned=True,
    settings={
        apache.APACHE_NAME: apache.APACHE_SETTINGS,
        apache.EVENT_NAME: apache.EVENT_SETTINGS,
        apache.PREFORK_NAME: apache.PREFORK,
        php.PHP_NAME: php.PHP_SETTINGS,
    },
)
