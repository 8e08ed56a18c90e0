"""Bank, shop and support site by Apache: files by itself, pages by PHP, wherever that runs."""

from loadstone.services import apache, php
from loadstone.services.kind import Site
from loadstone.services.sites import SITE_FOLDERS


def render_configuration(site: Site, pool: apache.Pool, modules: tuple[str, ...], handler: str, extra: str) -> str:
    """With PHP, by a handler, for what is no file; files have dates and no tags, as the reference server's have."""
    environment = "".join(f"SetEnv {name} {value}\n" for name, value in php.build_page_environment(site).items())
    files = "|".join(SITE_FOLDERS)
    content = (
        f"DocumentRoot {site.document_root}\nFileETag None\n"
        f'AliasMatch "^/(?!{files})" "{site.folder}/{php.PHP_PAGES}/index.php"\n'
        f"{apache.render_readable(site.document_root)}"
        f"{apache.render_readable(f'{site.folder}/{php.PHP_PAGES}', f'    SetHandler {handler}{chr(10)}')}"
        f"{environment}{extra}"
    )
    return apache.render_http(site, pool, modules, content)
