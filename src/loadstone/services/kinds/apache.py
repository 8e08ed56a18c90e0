"""Apache alone: files, mod_lua in its process, programs in C and Perl by mod_cgid, PHP over FastCGI and within."""

from loadstone.model.service import Mechanism, ServiceRole
from loadstone.services import apache, mod_php, php
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.mechanisms import CGI, NEEDS_COMPILER, NEEDS_PERL, PATH, PROGRAMS, SITE, made, source, sources
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
            words = shell(f"{php.manager_is_there(site)}; {apache.serving(site)}")
            version = shell(f"{apache.VERSION}; {php.VERSION}")
            said = {**apache.SAYS, **php.SAYS}
            return Program(words, texts, made(site), {"php": php.manager(site)}, status=said, version=version)
        case Mechanism.PHP_MODULE:
            words = shell(f"{mod_php.linking(site)}; {apache.serving(site)}")
            return Program(
                words, texts, made(site), status=apache.SAYS, version=shell(f"{apache.VERSION}; {mod_php.VERSION}")
            )
    return Program(shell(apache.serving(site)), texts, made(site), status=apache.SAYS, version=shell(apache.VERSION))


def configuration(site: Site) -> str:
    """Of one mechanism."""
    root, pool = f"{site.folder}/{SITE}", apache.EVENT[site.tuning]
    files = f"DocumentRoot {root}\n{apache.readable(root)}"
    match site.mechanism:
        case Mechanism.MODULE:
            served = f"LuaMapHandler {PATH} {site.folder}/{LUA}\nLuaScope thread\nLuaCodeCache forever\n"
            return apache.http(site, pool, ("lua",), files + served)
        case Mechanism.C_CGI | Mechanism.PERL_CGI:
            at = f"{site.folder}/{PROGRAMS}"
            runs = apache.readable(at, "    Options +ExecCGI\n")
            served = f"ScriptSock {site.folder}/cgid.sock\nScriptAlias {PATH} {at}/{CGI[site.mechanism]}\n{runs}"
            return apache.http(site, pool, ("cgid",), files + served)
        case Mechanism.PHP_FASTCGI:
            handler, kept = apache.php_handler(site)
            served = (
                f'<FilesMatch "\\.php$">\n    SetHandler {handler}\n</FilesMatch>\n{kept}{apache.php_status(handler)}'
            )
            return apache.http(site, pool, ("proxy", "proxy_fcgi"), files + served)
        case Mechanism.PHP_MODULE:
            served = f"AddType {mod_php.MODULE} .php\n{mod_php.loading(site)}"
            return apache.http(site, apache.PREFORK[site.tuning], (), files + served)
    return apache.http(site, pool, (), files)


KIND = ServiceKind(
    "apache",
    ServiceRole.WEBSERVER,
    program,
    8080,
    has_tls=True,
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
)
