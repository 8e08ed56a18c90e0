"""Records, imports and runs all stock applications; writes docs/evidence/stock-applications.md: what each needed."""

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.integration.conftest import command
from tests.places import PROJECT
from tests.sites.applications import (
    datasette,
    django_admin,
    dokuwiki,
    flask_appbuilder,
    h2_console,
    mediawiki,
    node_red,
    phpmyadmin,
    pocketbase,
    roundup_tracker,
    tiddlywiki,
    wordpress,
)
from tests.sites.contract import Stock
from tests.sites.recorded import Proof, proven

MODULES = (
    django_admin,
    flask_appbuilder,
    datasette,
    roundup_tracker,
    dokuwiki,
    mediawiki,
    wordpress,
    phpmyadmin,
    node_red,
    tiddlywiki,
    h2_console,
    pocketbase,
)
PAGE = PROJECT / "docs" / "evidence" / "stock-applications.md"
HEAD = """# Twelve stock applications, from a recording to a run

`make sites` does four steps with each application, and nothing is edited manually:

1. It starts the application, and a fresh Chromium visits it twice.
2. It imports both recordings with `--verify`.
3. It tries the imported workload.
4. It runs the workload with ten sessions.

The command wrote this table. Its columns:

- *values*: values that are taken from answers, instead of being sent as recorded.
- *needless*: rules that the live site does not need, and that were dropped.
- *requests*: requests of one visit. The application's log has all of them, with the queries and bodies of the
  recording. It has no others, except those of the preflight. Node-RED does not log its WebSocket.
- *run*: operations of all phases of the run from second 0 on, and failed ones among them. Users start part-way through
  their visits.
- *left to you*: recorded values that appear in no answer, such as text that a user typed. They are sent as recorded.

"""
COLUMNS = (
    *("application", "made with", "its visits need", "recording, MB", "import, CPU s"),
    *("operations", "values", "needless", "requests", "run: operations, errors", "left to you"),
)


def main(names: list[str]) -> int:
    """Records all of them, or those that are named, and writes the row of each to the page. Returns 1 when one did not
    hold.
    """
    chosen = [one.STOCK for one in MODULES if not names or one.STOCK.name in names]
    hold = [_holds(stock, PROJECT / "target" / "sites") for stock in chosen]
    return int(not all(hold))


def _holds(stock: Stock, fetched: Path) -> bool:
    """Whether an application holds; its row is written to the page then."""
    try:
        proof = _proof(stock, fetched)
    except AssertionError as error:
        print(f"{stock.name}: stopped: {error}", flush=True)
        return False
    if proof.faults():
        return False
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in PAGE.read_text().splitlines(keepends=True)}
    rows[stock.name] = _row(stock, proof)
    table = "".join(rows.get(each.STOCK.name, "") for each in MODULES)
    PAGE.write_text(HEAD + _line(COLUMNS) + _line("-" for _ in COLUMNS) + table)
    return True


def _proof(stock: Stock, fetched: Path) -> Proof:
    with tempfile.TemporaryDirectory(prefix="loadstone-site-") as place:
        folder = Path(place)

        def loadstone(*words: str, timeout: float = 300) -> "subprocess.CompletedProcess[str]":
            return subprocess.run(
                command(*words), cwd=folder, capture_output=True, text=True, timeout=timeout, check=False
            )

        proof = proven(stock, fetched, folder, loadstone)
    print(f"{stock.name}: {'; '.join(proof.faults()) or 'holds'}", flush=True)
    return proof


def _row(stock: Stock, proof: Proof) -> str:
    cells = (
        stock.name,
        stock.made_with,
        stock.needs,
        f"{proof.recorded_bytes / 1e6:.1f}",
        f"{proof.import_s:.1f}",
        proof.operations,
        proof.values,
        proof.needless,
        proof.sent,
        f"{proof.requests}, {proof.errors}",
        proof.left,
    )
    return _line(cells)


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
