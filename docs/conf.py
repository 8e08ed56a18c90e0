"""The site of the documentation: `make docs` builds it into target/docs/html. Pages stay plain Markdown without it."""

import re
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
project = "Loadstone"
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["_static"]
html_theme = "furo"
html_title = "Loadstone"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
myst_heading_anchors = 4
highlight_language = "none"
smartquotes = False

GROUPS = {
    "Start": ["install", "first-run", "concepts", "glossary", "troubleshooting"],
    "How to": [
        "how-to/own-site",
        "how-to/ci",
        "how-to/peak",
        "how-to/compare",
        "how-to/machines",
        "how-to/server-stacks",
        "how-to/tiles",
        "how-to/failover",
        "how-to/fleet",
        "how-to/*",
    ],
    "Reference papers": ["how-to/papers/*"],
    "Reference": ["reference/command-line", "reference/*-file", "reference/*"],
    "Explanation": ["explain/timing", "explain/verdicts", "explain/statistics", "explain/*"],
    "Sources": ["web-workloads", "applications", "consolidation", "webserver", "studies", "fault-tolerance"],
    "Evidence": ["evidence/*"],
    "More": ["*"],
}
"""Pages of the table of contents, by heading; each page stands under the first that names it."""


def contents() -> str:
    """The table of contents as Sphinx reads it."""
    blocks, known = [], {"index"}
    for caption, patterns in GROUPS.items():
        pages = [page for pattern in patterns for page in sorted(HERE.glob(f"{pattern}.md"))]
        found = dict.fromkeys(str(page.relative_to(HERE).with_suffix("")) for page in pages)
        names = [name for name in found if name not in known]
        known |= set(names)
        if names:
            blocks.append("\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *names, "```"]))
    return "\n\n".join(blocks)


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Adds the table of contents to the start page, and makes files outside of the documentation downloads."""
    depth = "../" * (name.count("/") + 1)
    outside = re.compile(rf"\[([^\]]+)\]\(({re.escape(depth)}(?!\.\.)[^)#]+)(#[^)]*)?\)")
    source[0] = outside.sub(r"{download}`\1 <\2>`", source[0])
    if name == "index":
        source[0] += f"\n\n{contents()}\n"


def setup(app: Sphinx) -> None:
    """Has pages changed as they are read."""
    app.connect("source-read", read)
