"""`python -m tests.fleet.trial starts|kills [COUNT]`: what docs/how-to/fleet.md tells of many runs, measured anew.

`starts`: so many runs on eight hosts that make load - how far apart their starts were by the drivers' own stamps, and
whether the counts are those of the server's own log. `kills`: so many deaths of every kind during a run.
"""

import json
import re
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from tests.fleet.deaths import DEATHS, Death, during_a_run
from tests.fleet.hosts import EXAMPLE, cluster, namespace_hosts, site_on

DRIVERS = 8


def starts(count: int) -> None:
    """Runs on eight hosts."""
    names = [f"d{number}" for number in range(1, DRIVERS + 1)]
    with (
        namespace_hosts(["lab", "site", *names]) as hosts,
        cluster(hosts, dict.fromkeys(names, "driver")) as lab,
        site_on(hosts["site"]) as (url, log),
    ):
        skews_ms, same = [], 0
        for number in range(count):
            words = ["run", str(EXAMPLE), "--target", url, "--rate", "80", "--profile", "brief"]
            done = lab.loadstone(*words, "--foreign-cpu", "100", "--name", f"start-{number}")
            result = lab.result(f"start-{number}")
            stamps = [_began_ns(file) for file in sorted(result.glob("logs/d*/*.log"))]
            told, logged = _sent(result), _logged(log, _start_s(result))
            skews_ms.append((max(stamps) - min(stamps)) / 1e6)
            same += told == logged
            print(
                f"{number}: code {done.returncode}, {len(stamps)} drivers, starts {skews_ms[-1]:.3f} ms apart, "
                f"{told} requests told, {logged} in the server's log",
                flush=True,
            )
        print(f"median of {count}: {median(skews_ms):.3f} ms, worst {max(skews_ms):.3f}; counts equal in {same}")


def kills(count: int) -> None:
    """Every kind of death in turn."""
    roles = {"d1": "driver", "s1": "system", "s2": "system"}
    with namespace_hosts(["lab", *roles]) as hosts, cluster(hosts, roles) as lab:
        for number in range(count):
            death: Death = list(DEATHS)[number % len(DEATHS)]
            seen = during_a_run(lab, hosts, death)
            print(f"{number}: {death}: {seen}", flush=True)
            lab.heal(hosts)


def _logged(log: Path, since_s: float) -> int:
    """Requests of drivers from the start on: before it they learn what their users' browsers have."""
    lines = (line.split() for line in log.read_text().splitlines())
    return sum(float(words[1]) >= since_s for words in lines)


def _start_s(result: Path) -> float:
    return float(next(event["start_unix_ns"] for event in _events(result) if event["event"] == "start")) / 1e9


def _events(result: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in next(result.glob("runs/*/events.jsonl")).read_text().splitlines()]


def _began_ns(log: Path) -> int:
    found = re.search(r"began at ([0-9]+) ns", log.read_text())
    assert found, log.read_text()
    return int(found[1])


def _sent(result: Path) -> int:
    return sum(event["connections"]["http_requests"] for event in _events(result) if event["event"] == "interval")


if __name__ == "__main__":
    begun = time.monotonic()
    {"starts": starts, "kills": kills}[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 20)
    print(f"in {time.monotonic() - begun:.0f} s")
