"""`python -m benches`: runs the cases, keeps their figures in benches/results, writes docs/evidence/performance.md."""

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path

from benches.cases import CASES, OURS, Setting, versions, workshop
from benches.measure import machine, regressions, save, say
from benches.page import write_page
from benches.server import nginx
from loadstone.host import programs

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def main() -> None:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(prog="benches", description="Measure the load driver against other tools.")
    parser.add_argument(
        "cases", nargs="*", metavar="CASE", help=f"which cases; all when none is named: {', '.join(CASES)}"
    )
    parser.add_argument("--repeats", type=int, default=5, help="rounds in alternation (default 5)")
    parser.add_argument("--seconds", type=float, default=5.0, help="seconds of each execution (default 5)")
    parser.add_argument("--page-only", action="store_true", help="only write the page from the kept results")
    given = parser.parse_args()
    unknown = set(given.cases) - set(CASES)
    if unknown:
        parser.error(f"unknown case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    if not given.page_only:
        measure(given.cases or list(CASES), given.repeats, given.seconds)
    write_page(RESULTS, HERE.parent / "docs" / "evidence" / "performance.md")


def measure(names: list[str], repeats: int, seconds: float) -> None:
    """Runs cases one after the other; each is kept as soon as it is done."""
    with nginx(programs.find_server()) as server, workshop() as folder:
        setting = Setting(server, repeats, seconds, folder)
        for name in names:
            say(f"{name} ...")
            figures = CASES[name](setting)
            taken = {
                "case": name,
                "taken": datetime.now(UTC).isoformat(timespec="seconds"),
                "machine": machine(),
                "versions": {
                    **versions(list(figures.get("tools", {}))),
                    "nginx": server.version,
                },
                "repeats": repeats,
                "seconds": seconds,
            }
            file = RESULTS / f"{name}.json"
            before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
            lost = regressions(before, {**taken, **figures}, OURS)
            save(file, {**taken, **figures, "regressions": lost})
            say(f"  kept in {file}")
            for regression in lost:
                say(f"  REGRESSION: {regression}")


if __name__ == "__main__":
    main()
