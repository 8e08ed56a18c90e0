"""The published iterations' tables (tests/data/published_iterations.csv), as figures."""

import csv
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "data" / "published_iterations.csv"
OURS = {"banking": "banking", "ecommerce": "shopping", "support": "support"}
SESSIONS = {"banking": 2300, "shopping": 3200, "support": 2200}
ITERATIONS = ("V1", "V2", "V3")


@cache
def _cells() -> dict[tuple[str, str, str, str], str]:
    with FILE.open(encoding="utf-8") as file:
        return {
            (OURS[row["workload"]], row["table"], row["page"], row["column"]): row["value"]
            for row in csv.DictReader(file)
        }


def pages(workload: str) -> list[str]:
    """Page types of a workload, without the total."""
    names = [key[2] for key in _cells() if key[0] == workload and key[1].startswith("requests")]
    return [name for name in dict.fromkeys(names) if name != "Total"]


def figure(workload: str, table: str, page: str, column: str) -> float:
    """One figure; `table` is the beginning of its name."""
    for (held, name, at, of), value in _cells().items():
        if (held, at, of) == (workload, page, column) and name.startswith(table):
            return float(value.rstrip("*"))
    raise KeyError((workload, table, page, column))


def mean(workload: str, table: str, page: str) -> float:
    """Mean over the three iterations."""
    return sum(figure(workload, table, page, column) for column in ITERATIONS) / len(ITERATIONS)


def grades(workload: str, page: str, iteration: str) -> tuple[int, int, int]:
    """Good, tolerable only, fail."""
    text = _cells()[(workload, "QoS counts good / tolerable-only / fail", page, iteration)]
    good, tolerable, fail = (int(part) for part in text.split(" / "))
    return good, tolerable, fail
