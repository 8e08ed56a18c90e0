"""The site of the documentation has all pages, and nothing installs its tools but `make docs`."""

import re
import tomllib

from tests.places import PROJECT

MAKEFILE = (PROJECT / "Makefile").read_text(encoding="utf-8")


def test_only_make_docs_installs_the_tools_of_the_site() -> None:
    needing = re.findall(r"^(\S+):.*\$\(VENV\)/documenting", MAKEFILE, re.MULTILINE)
    assert needing == ["docs"]
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    tools = {re.split("[<>=]", name)[0] for name in extras["docs"]}
    assert "sphinx" in tools
    assert not tools & {re.split("[<>=]", name)[0] for name in extras["dev"]}


def test_the_tools_of_the_site_are_pinned() -> None:
    pinned = {line.split("==")[0].lower() for line in (PROJECT / "constraints.txt").read_text().splitlines()}
    assert {"furo", "myst-parser", "sphinx", "sphinx-copybutton"} <= pinned
