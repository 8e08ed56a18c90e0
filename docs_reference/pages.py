"""All pages of the reference, by the name of their file."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import loadstone
from docs_reference.commands import command_line
from docs_reference.exit_codes import exit_codes
from docs_reference.files import fleet_file, study_file, tile_file, workload_file
from docs_reference.markdown import page
from docs_reference.metrics import metrics
from docs_reference.program_settings import program_settings
from docs_reference.results import results_folder
from docs_reference.rules import rules_page

PROJECT = Path(__file__).parents[1]
FOLDER = PROJECT / "docs" / "reference"
SHIPPED_TILES = Path(loadstone.__file__).parent / "run" / "tiles" / "shipped"
PAGES: Mapping[str, Callable[[], Iterator[str]]] = {
    "command-line.md": command_line,
    "workload-file.md": workload_file,
    "study-file.md": study_file,
    "fleet-file.md": fleet_file,
    "tile-file.md": lambda: tile_file(SHIPPED_TILES),
    "results-folder.md": lambda: results_folder(PROJECT / "schemas"),
    "rules.md": rules_page,
    "metrics.md": metrics,
    "exit-codes.md": exit_codes,
    "settings.md": program_settings,
}
SOURCES = "web-workloads", "consolidation", "applications", "webserver", "studies", "fault-tolerance"
"""Pages that declarations and stored results name as their sources."""
CITED = re.compile(rf"(?<![`\"\w/])docs/(({'|'.join(SOURCES)})\.md)(?![`\"])")


def pages() -> dict[str, str]:
    """Text of each page."""
    return {name: _linked(page(blocks())) for name, blocks in PAGES.items()}


def _linked(text: str) -> str:
    """The text with links to the pages that it names, outside of examples."""
    parts = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else CITED.sub(r"[\1](../\1)", part) for part in parts)
