"""Files of the web sites: which requests are for files, and the commands that write the files."""

from loadstone.model.machine import SERVER
from loadstone.services.kind import Site

PAGES_OF = {"support": "support-pages"}
"""Files of a workload without those that a shared folder has."""
SITE_FOLDERS = ("bank/static/", "shop/static/", "support/static/", "shop/images/", "support/downloads/")
"""Beginnings of paths that are files, and no pages."""


def build_file_commands(site: Site, *folders: str) -> list[list[str]]:
    """Commands that create these folders and the document root, and write its files unless they are kept. Downloads
    that are in a shared folder are linked.
    """
    folder_command = ["mkdir", "-p", site.document_root, *(f"{site.folder}/{folder}" for folder in folders)]
    file_sets = {} if site.kept_files else site.file_sets
    sets = {PAGES_OF.get(name, name) if site.shared_folder else name: file_sets[name] for name in file_sets}
    commands = [build_file_command(name, sessions, site.document_root) for name, sessions in sets.items()]
    return [folder_command, *commands, *_linking(site)]


def build_file_command(name: str, sessions: int, folder: str) -> list[str]:
    """Command that writes a file set to a folder."""
    return [SERVER, "fileset", name, "--sessions", str(sessions), folder]


def _linking(site: Site) -> list[list[str]]:
    """Commands that put the downloads of a shared folder where the site has its downloads."""
    if not site.shared_folder:
        return []
    support = f"{site.document_root}/support"
    return [["mkdir", "-p", support], ["ln", "-sfn", f"{site.shared_folder}/support/downloads", f"{support}/downloads"]]
