"""`python -m tests.kvm [CHECK...]`: builds the emulated host, boots it, and prints the table of its checks.

The results are in target/kvm-trial: log.txt (the console), summary.md and the files that the checks left. Exit code 1
if a check failed.
"""

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path

from loadstone.host import launch
from tests.kvm.checks import CHECKS
from tests.kvm.emulated_host import EmulatedHost, build, command, read_back
from tests.kvm.outcome import CheckResult, Outcome, add_missing, read_results, write_table
from tests.places import PROJECT

FOLDER = PROJECT / "target" / "kvm-trial"
TIMEOUT_S = 4 * 3600.0
"""Longest life of the emulated host; a quiet machine needs a quarter of an hour."""
POLL_INTERVAL_S = 1.0


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.kvm", description=__doc__)
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(check.name for check in CHECKS))
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of disks and results")
    parser.add_argument("--sources", action="store_true", help="package of src in place of the wheel's")
    parsed = parser.parse_args(argv)
    unknown = set(parsed.checks) - {check.name for check in CHECKS}
    if unknown:
        parser.error(f"there is no check {', '.join(sorted(unknown))}")
    return parsed


def _wheel() -> Path:
    wheels = sorted((PROJECT / "dist").glob("loadstone-*.whl"))
    if not wheels:
        raise SystemExit("There is no wheel in dist/. Run `make wheel`.")
    return wheels[-1]


def _boot(host: EmulatedHost) -> str:
    """Runs the emulated host until it powers off, and prints results as they come. Returns why it ended early; empty
    where it did not.
    """
    with (host.folder / "qemu.log").open("wb") as log:
        process = subprocess.Popen(command(host), stdout=log, stderr=log, env=launch.build_environment())
    deadline, shown = time.monotonic() + TIMEOUT_S, 0
    try:
        while (running := process.poll() is None) and time.monotonic() < deadline:
            shown = _print_new(host, shown)
            time.sleep(POLL_INTERVAL_S)
        _print_new(host, shown)
        return f"the host did not end within {TIMEOUT_S:g} s" if running else ""
    finally:
        process.kill()
        process.wait()


def _print_new(host: EmulatedHost, shown: int) -> int:
    """Prints the results after the first so many; returns how many there are."""
    results = _results(host)
    for result in results[shown:]:
        print(f"{result.check}: {result.outcome}, {result.seconds:.0f} s: {result.detail}", flush=True)
    return len(results)


def _results(host: EmulatedHost) -> list[CheckResult]:
    return list(read_results(host.lines.read_text(errors="replace").splitlines())) if host.lines.is_file() else []


def main(argv: list[str]) -> int:
    """Runs the trial; returns the exit code."""
    options = _parse(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # the emulated host ends with this process
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    print("building the emulated host ...", flush=True)
    host = build(options.folder, _wheel(), options.checks, options.sources)
    print(f"built in {time.monotonic() - started:.0f} s; booting ...", flush=True)
    why = _boot(host)
    read_back(host, options.folder)
    wanted = [check.name for check in CHECKS if not options.checks or check.name in options.checks]
    results = add_missing(_results(host), wanted, why or f"the host ended before it; see {host.console}")
    minutes = (time.monotonic() - started) / 60
    table = f"{write_table(results)}\n{minutes:.1f} minutes, on an emulated host: functional proof, no figure.\n"
    (options.folder / "summary.md").write_text(table)
    print(f"\n{table}\nsummary: {options.folder / 'summary.md'}; console: {host.console}")
    return int(any(result.outcome is Outcome.FAILED for result in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
