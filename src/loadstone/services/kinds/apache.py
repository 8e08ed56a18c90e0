"""Apache alone: files, mod_lua in its process, programs in C and Perl by mod_cgid, PHP over FastCGI and within."""

from loadstone.model.service import Mechanism, ServiceRole
from loadstone.services import apache, mod_php, php
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.mechanisms import (
    CGI,
    NEEDS_COMPILER,
    NEEDS_PERL,
    PATH,
    PROGRAMS,
    build_commands,
    source,
    sources,
)
from loadstone.services.unprivileged import shell

LUA = "printenv.lua"


def program(site: Site) -> Program:
    """In the foreground."""
    texts = {apache.CONFIGURATION: configuration(site), **sources(site)}
    match site.mechanism:
        case Mechanism.MODULE:
            texts[LUA] = source(LUA)
        case Mechanism.PHP_FASTCGI:
            texts[php.FPM_CONFIGURATION] = php.manager_configuration(site)
            command = shell(f"{php.manager_is_there(site)}; {apache.serving(site)}")
            version = shell(f"{apache.VERSION}; {php.VERSION}")
            sources_of_status = {**apache.STATUS_SOURCES, **php.STATUS_SOURCES}
            return Program(
                command,
                texts,
                build_commands(site),
                {"php": php.manager(site)},
                status=sources_of_status,
                version=version,
            )
        case Mechanism.PHP_MODULE:
            command = shell(f"{mod_php.linking(site)}; {apache.serving(site)}")
            return Program(
                command,
                texts,
                build_commands(site),
                status=apache.STATUS_SOURCES,
                version=shell(f"{apache.VERSION}; {mod_php.VERSION}"),
            )
    return Program(
        shell(apache.serving(site)),
        texts,
        build_commands(site),
        status=apache.STATUS_SOURCES,
        version=shell(apache.VERSION),
    )


def configuration(site: Site) -> str:
    """Of one mechanism."""
    root, pool = site.document_root, apache.find_event_pool(site)
    files = f"DocumentRoot {root}\n{apache.readable(root)}"
    match site.mechanism:
        case Mechanism.MODULE:
            content = f"LuaMapHandler {PATH} {site.folder}/{LUA}\nLuaScope thread\nLuaCodeCache forever\n"
            return apache.http(site, pool, ("lua",), files + content)
        case Mechanism.C_CGI | Mechanism.PERL_CGI:
            programs = f"{site.folder}/{PROGRAMS}"
            runs = apache.readable(programs, "    Options +ExecCGI\n")
            content = f"ScriptSock {site.folder}/cgid.sock\nScriptAlias {PATH} {programs}/{CGI[site.mechanism]}\n{runs}"
            return apache.http(site, pool, ("cgid",), files + content)
        case Mechanism.PHP_FASTCGI:
            handler, lines = apache.php_handler(site)
            content = (
                f'<FilesMatch "\\.php$">\n    SetHandler {handler}\n</FilesMatch>\n{lines}{apache.php_status(handler)}'
            )
            return apache.http(site, pool, ("proxy", "proxy_fcgi"), files + content)
        case Mechanism.PHP_MODULE:
            content = f"AddType {mod_php.MODULE} .php\n{mod_php.loading(site)}"
            return apache.http(site, apache.find_prefork_pool(site), (), files + content)
    return apache.http(site, pool, (), files)


KIND = ServiceKind(
    "apache",
    ServiceRole.WEBSERVER,
    program,
    8080,
    has_tls=True,
    reads_files=True,
    needs=apache.NEEDS,
    mechanisms={
        Mechanism.STATIC: {},
        Mechanism.MODULE: {},
        Mechanism.C_CGI: NEEDS_COMPILER,
        Mechanism.PERL_CGI: NEEDS_PERL,
        Mechanism.PHP_FASTCGI: php.NEEDS_FPM,
        Mechanism.PHP_MODULE: mod_php.NEEDS,
    },
    is_tuned=True,
    settings={
        apache.NAME: apache.SETTINGS,
        apache.EVENT_NAME: apache.EVENT,
        apache.PREFORK_NAME: apache.PREFORK,
        php.NAME: php.SETTINGS,
    },
)
