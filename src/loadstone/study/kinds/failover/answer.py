"""What `failover` answers: what the fault cost the users in each trial. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import scipy

from loadstone.judge.outage import SLOW, Outage
from loadstone.judge.statistics import CONFIDENCE_LEVEL
from loadstone.model.fault import FaultKind
from loadstone.model.machine import PROCESS
from loadstone.model.numbers import format_milliseconds as seconds
from loadstone.model.numbers import format_number
from loadstone.study.failure import Failure
from loadstone.study.question import Answer


@dataclass(frozen=True)
class Trial:
    """One fault and what it came to; `run` is its folder."""

    run: str
    at_s: float
    """After the steady state began."""
    failure: Failure | None
    """None where nothing is known: the run broke off before."""
    platform: str = ""
    """What made the machines; empty in older answers."""
    foreign_pct: float | None = None
    """Share of the host's CPU that others used, where that was too much; None where it was not, or is not known."""

    @property
    def is_known(self) -> bool:
        """Whether it says what the fault cost."""
        return self.failure is not None and self.failure.outage is not None

    @property
    def has_survived(self) -> bool:
        """Whether users were served again, and nothing that they were told was lost or done twice."""
        failure = self.failure
        if failure is None or failure.outage is None:
            return False
        is_complete = failure.ledgers is None or not (failure.ledgers.lost or failure.ledgers.repeated)
        return is_complete and failure.outage.has_recovered


@dataclass(frozen=True, kw_only=True)
class FailoverAnswer(Answer):
    """What the fault cost in each trial."""

    fault: FaultKind
    machine: str = ""
    """Selector of the machine that had the fault; empty for the first that users reach."""
    trials: tuple[Trial, ...] = ()

    @property
    def is_negative(self) -> bool:
        """Whether a trial was not survived."""
        return any(trial.is_known and not trial.has_survived for trial in self.trials)


def compute_failing_at_most(survived: int, trials: int) -> float:
    """The largest share of failures that so many trials leave possible: the upper 95 % limit (Clopper, Pearson 1934).

    50 of 50 leave 5.8 %.
    """
    return float(scipy.special.betaincinv(trials - survived + 1, survived, CONFIDENCE_LEVEL)) if survived else 1.0


def summarize_trials(fault: FaultKind, trials: Sequence[Trial], machine: str = "") -> Iterator[str]:
    """Yields the cost of the fault for the users over all trials, then the doubts."""
    refused = next((trial.failure.refused for trial in trials if trial.failure and trial.failure.refused), "")
    if refused:
        yield refused
        return
    known = [trial for trial in trials if trial.is_known]
    if not known:
        yield "Too few operations ended before the fault to measure its cost. Use more load, or a later --at."
        return
    survived = sum(trial.has_survived for trial in known)
    most_pct = 100 * compute_failing_at_most(survived, len(known))
    outages = [outage for trial in known if (outage := trial.failure and trial.failure.outage)]
    yield (
        f"{fault}{_name_target(known, machine)}: {_silences(outages)}; {survived} of {len(known)} survived, "
        f"up to {most_pct:.0f} % may fail (95 % limit)."
    )
    yield _outages(outages)
    ledgers = [trial.failure.ledgers for trial in known if trial.failure and trial.failure.ledgers]
    if ledgers:
        lost, repeated = sum(ledger.lost for ledger in ledgers), sum(ledger.repeated for ledger in ledgers)
        yield f"Transactions acknowledged to users: {lost} lost, {repeated} repeated."
    disturbed = [trial.foreign_pct for trial in known if trial.foreign_pct is not None]
    if disturbed:
        yield (
            f"Other programs used up to {max(disturbed):.0f} % of the host in {len(disturbed)} of {len(known)} trials: "
            "delays may come from the host. Run it again on an idle host."
        )
    if len(known) < len(trials):
        yield f"{len(trials) - len(known)} of {len(trials)} trials are not conclusive and are excluded."


def _name_target(trials: Sequence[Trial], machine: str) -> str:
    """What the fault hit: the machine, where it was chosen, and its platform."""
    platforms = {trial.platform for trial in trials if trial.platform}
    kind = " and ".join(sorted(platforms))
    if platforms == {PROCESS}:
        remedy = f"--machine {machine}.platform=pair" if machine else "--platform pair"
        kind = f"a plain process, which nothing protects or restarts (`{remedy}` does)"
    named = ", ".join(filter(None, (machine, kind)))
    return f" of {named}" if named else ""


def _silences(outages: Sequence[Outage]) -> str:
    """The longest time without a good answer from the fault on, beside that before it."""
    known = [outage.silence_s for outage in outages if outage.silence_s is not None]
    mute = len(outages) - len(known)
    parts = []
    if known:
        usual = f" (median {seconds(median(known))})" if len(known) > 1 else ""
        parts.append(f"users had no good response for {seconds(max(known))} at most{usual}")
    if mute:
        parts.append(f"users had no good response until the end in {mute} of {len(outages)} trials")
    before = [outage.silence_before_s for outage in outages if outage.silence_before_s is not None]
    if before:
        parts.append(f"before the fault for {seconds(max(before))} at most")
    return ", ".join(parts)


def _outages(outages: Sequence[Outage]) -> str:
    affected = sum(outage.affected for outage in outages)
    usual_pct = max(outage.failed_before_pct for outage in outages)
    later = sum(outage.failed_later for outage in outages)
    remarks = f" {later} operation{'s' * (later != 1)} failed later." if later else ""
    remarks += (
        f" Before the fault up to {format_number(usual_pct, 2)} % of the operations failed as well."
        if usual_pct
        else ""
    )
    if not affected and all(outage.has_recovered for outage in outages):
        return f"No operation failed at the fault, or took more than {SLOW:g} times as long as any before.{remarks}"
    lengths = [outage.seconds for outage in outages]
    endless = sum(not outage.has_recovered for outage in outages)
    open_end = f" ({endless} of {len(outages)} were not over when the run ended)" if endless else ""
    usual, longest = format_number(median(lengths), 2), format_number(max(lengths), 2)
    failed, unanswered = (sum(getattr(outage, name) for outage in outages) for name in ("failed", "unanswered"))
    had_none = f", {unanswered} had no response when the run ended" if unanswered else ""
    return (
        f"Outage as users saw it: median {usual} s, at most {longest} s{open_end}; {affected} operations affected, "
        f"{failed} of them failed{had_none}.{remarks}"
    )
