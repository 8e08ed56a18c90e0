"""What a wheel holds: an editable installation would not show what is left out."""

import tomllib
from pathlib import Path, PurePath

ROOT = Path(__file__).parents[2]
MADE = {".py", ".pyc", ".so"}
"""Sources are found by themselves, and programs are built."""


def test_every_file_beside_the_sources_is_packed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["loadstone"]
    package = ROOT / "src" / "loadstone"
    files = [path.relative_to(package) for path in package.rglob("*") if path.is_file() and path.suffix not in MADE]
    assert [str(path) for path in files if not any(PurePath(path).match(pattern) for pattern in patterns)] == []
