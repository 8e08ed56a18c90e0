"""What bank, shop and support site are to a web server: which requests are for files, and where those are written."""

from loadstone.model.machine import SERVER
from loadstone.services.kind import Site

SITE = "site"
"""Folder of a machine's files with the sites' own."""
PAGES_OF = {"support": "support-pages"}
"""Files of a workload without those that a shared folder has."""
FILES = ("bank/static/", "shop/static/", "support/static/", "shop/images/", "support/downloads/")
"""Beginnings of paths that are files, and no pages."""


def file_commands(site: Site, *folders: str) -> list[list[str]]:
    """Commands that make these folders and that of the files, and write the files. Downloads that are in a shared
    folder are linked.
    """
    folder_command = ["mkdir", "-p", f"{site.folder}/{SITE}", *(f"{site.folder}/{folder}" for folder in folders)]
    sets = {PAGES_OF.get(name, name) if site.shared_folder else name: site.file_sets[name] for name in site.file_sets}
    commands = [
        [SERVER, "fileset", name, "--sessions", str(sessions), f"{site.folder}/{SITE}"]
        for name, sessions in sets.items()
    ]
    return [folder_command, *commands, *_linking(site)]


def _linking(site: Site) -> list[list[str]]:
    """Commands that put the downloads of a shared folder where the site has its downloads."""
    if not site.shared_folder:
        return []
    support = f"{site.folder}/{SITE}/support"
    return [["mkdir", "-p", support], ["ln", "-sfn", f"{site.shared_folder}/support/downloads", f"{support}/downloads"]]
