"""What bank, shop and support site are to a web server: which requests are for files, and where those are written."""

from loadstone.model.machine import SERVER
from loadstone.services.kind import Site

SITE = "site"
"""Folder of a machine's files with the sites' own."""
FILES = ("bank/static/", "shop/static/", "support/static/", "shop/images/", "support/downloads/")
"""Beginnings of paths that are files, and no pages."""


def file_commands(site: Site, *folders: str) -> list[list[str]]:
    """Commands that make these folders and that of the files, and write the files."""
    folder_command = ["mkdir", "-p", f"{site.folder}/{SITE}", *(f"{site.folder}/{folder}" for folder in folders)]
    return [folder_command] + [
        [SERVER, "fileset", name, "--sessions", str(sessions), f"{site.folder}/{SITE}"]
        for name, sessions in site.file_sets.items()
    ]
