"""Does the driver grow? One page at twenty thousand requests a second for an hour, its memory looked at all the while.

`python -m benches.soak --minutes 60` plays the page to 2,000 users who think for a tenth of a second, against a stock
nginx with one worker: the reference server, which makes its pages, ends at eight thousand a second on one core.
`docs/evidence/trust.md` keeps what was measured.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benches.accused import PAGE, driver_of
from benches.server import nginx
from loadstone.host.programs import find_server

STUDY = """[target]
urls = ["{there}"]
[[load]]
workload = "page"
sessions = 2000
[profile]
ramp_up_s = 5
warm_up_s = 55
steady_s = {seconds}
ramp_down_s = 0
[driver]
foreign_cpu_pct = 100
"""
THINK_S = 0.1
SETTLED_S = 75.0
"""After so long all users are there and all memory that they need."""
LOOK_S = 5.0
MIB = 1 << 20


def played(seconds: int) -> tuple[list[tuple[float, int]], float]:
    """The driver's own memory in bytes, by seconds since its start, and requests per second."""
    with nginx(find_server()) as there, tempfile.TemporaryDirectory(prefix="loadstone-soak-") as name:
        folder = Path(name)
        (folder / "page").mkdir()
        page = PAGE.replace("mean_s = 0.5", f"mean_s = {THINK_S}").replace("/support/index", "/1k.html")
        (folder / "page" / "workload.toml").write_text(page)
        (folder / "study.toml").write_text(STUDY.format(seconds=seconds, there=there.http))
        words = [sys.executable, "-m", "loadstone", "run", "study.toml", "--results", str(folder / "results")]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder) as lab:
            seen = list(looks(driver_of(lab), lab))
        (events,) = (folder / "results").glob("*/runs/*/events.jsonl")
        return seen, requests_of(events) / seconds


def looks(driver: psutil.Process, lab: subprocess.Popen[bytes]) -> list[tuple[float, int]]:
    """What the driver holds that no file backs, again and again until it ends."""
    begun, seen = time.monotonic(), []
    while lab.poll() is None:
        try:
            seen.append((time.monotonic() - begun, driver.memory_full_info().uss))
        except psutil.Error:
            break
        time.sleep(LOOK_S)
    lab.wait()
    return seen


def requests_of(events: Path) -> int:
    """Requests that were counted."""
    totals = [event for line in events.open() if (event := json.loads(line))["event"] == "totals"]
    return sum(operation["counts"]["requests"] for total in totals for operation in total["operations"])


def main() -> None:
    """Plays it, and prints by how much the driver grew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=int, default=60, help="length of the steady state")
    options = parser.parse_args()
    seen, per_s = played(60 * options.minutes)
    settled = [held for at, held in seen if at >= SETTLED_S]
    print(f"{per_s:.0f} requests/s for {options.minutes} min, {len(settled)} looks at the driver's memory")
    print(
        f"settled {settled[0] / MIB:.2f} MiB, at the end {settled[-1] / MIB:.2f} MiB, at most {max(settled) / MIB:.2f}"
    )
    print(f"grown by {(settled[-1] - settled[0]) / MIB:.2f} MiB")


if __name__ == "__main__":
    main()
