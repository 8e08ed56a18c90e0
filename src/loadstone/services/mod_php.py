"""PHP as a module of Apache."""

from loadstone.services import php
from loadstone.services.kind import Site

MOD_PHP_NEEDS = {"/usr/lib/apache2/modules/libphp*.so": "libapache2-mod-php"}
LINKED = "libphp.so"
MOD_PHP_VERSION = "ls /usr/lib/apache2/modules/libphp*.so | sed 's/.*libphp/PHP module /; s/.so$//'"
MOD_PHP_TYPE = "application/x-httpd-php"
"""What is given to it."""
NO_MODULE = "none"
"""How an empty value is said (php.net, changing settings in Apache)."""


def render_link(site: Site) -> str:
    """The shell's words for Debian's module, which has its version in its name."""
    return f"ln -sf $(ls /usr/lib/apache2/modules/libphp*.so | tail -n 1) {site.folder}/{LINKED}"


def render_load(site: Site) -> str:
    """Loads it, with PHP's settings."""
    values = php.build_ini(site).items()
    set_to = "".join(f'php_admin_value {name} "{value or NO_MODULE}"\n' for name, value in values)
    return f"LoadModule php_module {site.folder}/{LINKED}\n{set_to}"
