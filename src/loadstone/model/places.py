"""Finding the line of a key in a TOML file, so that an error can name its place."""

import re

_TABLE = re.compile(r"^\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_.-]+)(?:\s*\.\s*(?:"[^"]*"|[A-Za-z0-9_-]+))*)\s*=""")

Path = tuple[str, ...]


def find_places(text: str) -> dict[Path, int]:
    """Line numbers (from 1) of every table and of every key that begins a line, by its full path.

    The n-th entry of an array of tables is `(name, str(n))`, counted from 0.
    """
    lines: dict[Path, int] = {}
    table: Path = ()
    entries: dict[Path, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _TABLE.match(line):
            table = _split(match.group(1))
            lines.setdefault(table, number)
            if line.lstrip().startswith("[["):
                entry = entries.get(table, 0)
                entries[table] = entry + 1
                table = (*table, str(entry))
                lines[table] = number
        elif match := _KEY.match(line):
            lines.setdefault((*table, *_split(match.group(1))), number)
    return lines


def find_line(lines: dict[Path, int], path: Path) -> int:
    """The line of a path, or of the nearest thing around it; 1 when nothing is known."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1


def _split(dotted: str) -> Path:
    parts = re.findall(r""""[^"]*"|'[^']*'|[^.\s]+""", dotted)
    return tuple(part.strip("\"'") for part in parts)
