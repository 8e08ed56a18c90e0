"""A search that keeps the CPU of the system under test below a limit: a run that uses more counts as failed. Pure."""

from dataclasses import replace

from loadstone.judge.check import check_at_most
from loadstone.judge.usage import is_support
from loadstone.model.records.check import CheckId, Weight
from loadstone.model.records.verdict import Verdict
from loadstone.model.role import ProcessRole
from loadstone.study.summary import RunSummary

UNWATCHED = "The CPU of the system under test was not watched, so `--below-cpu` cannot be decided. Remove it."
LIMIT_SOURCE = "declared for this search"


def limit_cpu(run: RunSummary, below_cpu_pct: float | None) -> RunSummary:
    """Returns a run with its CPU as a further rule; an invalid one where its CPU is not known."""
    if below_cpu_pct is None or not run.is_valid:
        return run
    used = compute_used_share(run)
    if used is None:
        return replace(run, verdict=Verdict.INVALID, reasons=(UNWATCHED, *run.reasons))
    check = check_at_most(CheckId.SYSTEM_CPU, 100 * used, below_cpu_pct, "%", Weight.FAIL, LIMIT_SOURCE)
    verdict = Verdict.FAIL if check.is_broken else run.verdict
    return replace(run, verdict=verdict, checks=(*run.checks, check))


def compute_used_share(run: RunSummary) -> float | None:
    """Returns the share that a system used of its CPU, or of a modelled station's workers; None where it is not known.

    Processes that a platform needs beside a machine do not count: agents and secondary of a pair.
    """
    workers, busy = run.capacity.get("workers"), run.metrics.get("busy_workers")
    if workers and busy is not None:
        return busy / workers
    cores = [use.cores for name, use in run.processes.items() if _is_measured(name)]
    held = run.capacity.get("server_cores")
    return sum(cores) / held if cores and held else None


def _is_measured(name: str) -> bool:
    return not is_support(name) and not ProcessRole.parse(name).companion
