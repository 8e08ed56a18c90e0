"""Is the driver named when it is starved, and only then? Real runs, in turn: undisturbed, beside a busy loop, starved.

`python -m benches.accused --trials 20` plays one page to 100 users for eight seconds each time, with the limit on
others' CPU out of the way, so that the driver's own rules decide. `docs/evidence/trust.md` keeps what was measured.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil

from loadstone.model.records.check import DRIVER_CHECKS, Outcome
from loadstone.store.read import read_verdict

PAGE = """[workload]
name = "page"
title = "One page"
[pacing]
kind = "think"
mean_s = 0.5
[limits]
good_s = 1
tolerable_s = 2
[mix]
kind = "flat"
shares = { home = 1 }
[operations.home]
path = "/support/index"
"""
STUDY = """[[load]]
workload = "page"
sessions = 100
[profile]
ramp_up_s = 1
warm_up_s = 1
steady_s = 8
ramp_down_s = 0
[driver]
foreign_cpu_pct = 100
"""
STARVED_S = 3.0
"""For how long the driver is kept from its cores, or has to share them."""
STOPPED_S = 0.8
SLICE_S = 0.2
LOOP = [sys.executable, "-c", "while True: pass"]
Disturb = Callable[[psutil.Process], None]


def leave_alone(_: psutil.Process) -> None:
    """Nothing is done to it."""


def keep_busy(_: psutil.Process) -> None:
    """One core has other work, which goes before nobody."""
    with subprocess.Popen(LOOP) as loop:
        time.sleep(STARVED_S)
        loop.kill()


def stop(driver: psutil.Process) -> None:
    """It is not scheduled at all for a while."""
    driver.suspend()
    time.sleep(STOPPED_S)
    driver.resume()


def starve(driver: psutil.Process) -> None:
    """It gets its cores for a quarter of the time, in slices, as on a host that gave them to others too.

    Priorities do not do that: a kernel that groups processes by session gives each group its share.
    """
    ends = time.monotonic() + STARVED_S
    while time.monotonic() < ends:
        driver.suspend()
        time.sleep(0.75 * SLICE_S)
        driver.resume()
        time.sleep(0.25 * SLICE_S)


KINDS: dict[str, tuple[Disturb, bool]] = {
    "undisturbed": (leave_alone, False),
    "beside a busy loop": (keep_busy, False),
    "stopped": (stop, True),
    "starved": (starve, True),
}
"""What is done, and whether the driver is to be named for it."""


def driver_of(lab: subprocess.Popen[bytes]) -> psutil.Process:
    """The driver that a lab started, once it plays."""
    for _ in range(200):
        for child in psutil.Process(lab.pid).children(recursive=True):
            if child.name() == "loadstone-driver":
                return child
        time.sleep(0.05)
    raise RuntimeError("no driver was started in ten seconds")


def is_accused(disturb: Disturb) -> bool:
    """Whether a run disturbed in its middle names the driver as the limit."""
    with tempfile.TemporaryDirectory(prefix="loadstone-accused-") as name:
        folder = Path(name)
        (folder / "page").mkdir()
        (folder / "page" / "workload.toml").write_text(PAGE)
        (folder / "study.toml").write_text(STUDY)
        words = [sys.executable, "-m", "loadstone", "run", "study.toml", "--results", str(folder / "results")]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder) as lab:
            driver = driver_of(lab)
            wait_for_steady(folder)
            disturb(driver)
            if lab.wait(timeout=120) < 0:
                raise RuntimeError(f"the lab ended by {signal.Signals(-lab.returncode).name}")
        (result,) = (folder / "results").iterdir()
        verdict = read_verdict(result)
        assert verdict is not None, "a run is judged"
        checks = [check for one in verdict.workloads for iteration in one.iterations for check in iteration.checks]
        return any(check.outcome is Outcome.BROKEN for check in checks if check.id in DRIVER_CHECKS)


def wait_for_steady(folder: Path) -> None:
    """Until the steady state has been under way for a second."""
    for _ in range(600):
        for events in folder.glob("results/*/runs/*/events.jsonl"):
            if '"phase":"steady"' in events.read_text():
                time.sleep(1)
                return
        time.sleep(0.1)
    raise RuntimeError("no steady state was seen in a minute")


def main() -> None:
    """Plays all kinds in turn, and prints how often the driver was named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20, help="runs of each kind")
    named: Counter[str] = Counter()
    trials = parser.parse_args().trials
    for _ in range(trials):
        for kind, (disturb, _) in KINDS.items():
            named[kind] += is_accused(disturb)
    for kind, (_, is_due) in KINDS.items():
        print(f"{kind:20} named in {named[kind]:3} of {trials}, due in {trials if is_due else 0}")


if __name__ == "__main__":
    main()
