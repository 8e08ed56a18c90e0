"""`python -m tests.rates [NAME ...]`: tries every rate as often as it asks for, and writes docs/evidence/test-rates.md.

Each trial is a line in `target/rates/NAME.jsonl`. A measurement that was interrupted goes on with the trials that are
missing, as long as the commit is the same. Rows of rates without trials stay as they are. Ends with 1 where a trial did
not hold.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from loadstone.study.kinds.failover.answer import compute_failing_at_most
from tests.places import PROJECT
from tests.rates import RATES
from tests.rates.contract import Rate

KEPT = PROJECT / "target" / "rates"
PAGE = PROJECT / "docs" / "evidence" / "test-rates.md"
HEAD = """# Test rates: how often properties hold

`make test` tries each behaviour once. `make test-all` tries it many times, and wrote this table. *May fail* is the
upper end of the 95 % interval of the share of trials that fail.

| rate | what must hold | held | trials | may fail, % | median seconds a trial | date | commit |
|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Trial:
    """One trial and what came of it."""

    number: int
    has_held: bool
    reason: str
    """Why it did not hold; empty where it did."""
    seconds: float
    date: str
    commit: str


def main(arguments: Sequence[str]) -> int:
    """Tries all rates, or those that are named; returns 1 where a trial did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.rates", description="Count how often a behaviour holds.")
    parser.add_argument("name", nargs="*", choices=[[], *(rate.name for rate in RATES)], help="Default: all.")
    parser.add_argument("--trials", type=int, help="Number of trials of each. Default: as the rate declares.")
    options = parser.parse_args(arguments)
    chosen = [rate for rate in RATES if not options.name or rate.name in options.name]
    for rate in chosen:
        _measure(rate, options.trials or rate.trials)
        written = PAGE.read_text().splitlines(keepends=True)
        PAGE.write_text(HEAD + "".join(_row(rate, written) for rate in RATES))
    return int(any(not trial.has_held for rate in chosen for trial in _kept(rate)))


def _measure(rate: Rate, trials: int) -> None:
    commit = _commit()
    kept = [trial for trial in _kept(rate) if trial.commit == commit]
    KEPT.mkdir(parents=True, exist_ok=True)
    _file(rate).write_text("".join(map(_line, kept)))
    tried = {trial.number for trial in kept}
    for number in sorted(set(range(trials)) - tried):
        trial = _try(rate, number, commit)
        with _file(rate).open("a", encoding="utf-8") as file:
            file.write(_line(trial))
        print(f"{rate.name} {number + 1}/{trials}: {trial.reason or 'held'} ({trial.seconds:.1f} s)", flush=True)


def _try(rate: Rate, number: int, commit: str) -> Trial:
    began, reason = time.monotonic(), ""
    with tempfile.TemporaryDirectory(prefix=f"loadstone-rate-{rate.name}-") as folder:
        try:
            rate.attempt(number, Path(folder))
        except Exception as error:
            traceback.print_exc()
            reason = f"{type(error).__name__}: {error}"[:500]
    date = datetime.now(UTC).date().isoformat()
    return Trial(number, not reason, reason, round(time.monotonic() - began, 2), date, commit)


def _commit() -> str:
    """Returns the short name of the commit, with a plus where files are changed."""
    hash_ = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=PROJECT, capture_output=True, text=True)
    state = ["git", "status", "--porcelain", "--untracked-files=no", "--", "src", "crates", "tests"]
    changed = subprocess.run(state, cwd=PROJECT, capture_output=True, text=True)
    return hash_.stdout.strip() + "+" * bool(changed.stdout.strip())


def _file(rate: Rate) -> Path:
    return KEPT / f"{rate.name}.jsonl"


def _kept(rate: Rate) -> list[Trial]:
    if not _file(rate).is_file():
        return []
    return [Trial(**json.loads(line)) for line in _file(rate).read_text(encoding="utf-8").splitlines()]


def _line(trial: Trial) -> str:
    return json.dumps(asdict(trial)) + "\n"


def _row(rate: Rate, written: Sequence[str]) -> str:
    """The row of a rate; the written one where no trial is kept here, since another copy of the project wrote it."""
    begin = f"| {rate.name} | {rate.title} | "
    trials = _kept(rate)
    if not trials:
        unmeasured = f"{begin}- | 0 of {rate.trials} | - | - | not measured | - |\n"
        return next((line for line in written if line.startswith(begin)), unmeasured)
    held, seconds = sum(trial.has_held for trial in trials), sorted(trial.seconds for trial in trials)
    may_fail = 100 * compute_failing_at_most(held, len(trials))
    newest = trials[-1]
    cells = (rate.name, rate.title, held, len(trials), f"{may_fail:.1f}", f"{seconds[len(seconds) // 2]:.1f}")
    return f"| {' | '.join(map(str, (*cells, newest.date, newest.commit)))} |\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
