"""Bank, shop and support site by Apache: files by itself, pages by PHP, wherever that runs."""

from loadstone.services import apache, php
from loadstone.services.kind import Site
from loadstone.services.sites import FILES


def configuration(site: Site, pool: apache.Pool, modules: tuple[str, ...], handler: str, extra: str) -> str:
    """With PHP, by a handler, for what is no file; files have dates and no tags, as the reference server's have."""
    environment = "".join(f"SetEnv {name} {value}\n" for name, value in php.page_environment(site).items())
    files = "|".join(FILES)
    content = (
        f"DocumentRoot {site.document_root}\nFileETag None\n"
        f'AliasMatch "^/(?!{files})" "{site.folder}/{php.PAGES}/index.php"\n'
        f"{apache.readable(site.document_root)}"
        f"{apache.readable(f'{site.folder}/{php.PAGES}', f'    SetHandler {handler}{chr(10)}')}{environment}{extra}"
    )
    return apache.http(site, pool, modules, content)
