"""`failover`: what does a fault cost the users? The same run several times, a fault in each. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated, Literal

import scipy
from pydantic import Field

from loadstone.judge.outage import SLOW, Outage
from loadstone.judge.statistics import LEVEL
from loadstone.model.errors import UsageError
from loadstone.model.fault import FaultKind, PlannedFault
from loadstone.model.machine import PROCESS
from loadstone.model.numbers import milliseconds as seconds
from loadstone.model.numbers import number
from loadstone.model.reading import Flag
from loadstone.model.records.check import CheckId
from loadstone.model.records.manifest import StudiedWorkload
from loadstone.page.blocks import Block, Column, ColumnKind, Figure, Gallery, Paragraph, Row, Table, Tone
from loadstone.page.plot import Plot
from loadstone.run.seeds import derived
from loadstone.study.failure import Failure
from loadstone.study.kind import StudyContext, StudyKind, StudySection
from loadstone.study.question import Answer, first_missing, key_of, missing
from loadstone.study.summary import RunRequest, RunSummary

EARLIEST, LATEST = 0.3, 0.6
"""Between which shares of the steady state a fault comes that was given no time: enough before it to compare with, and
enough after it to recover in."""
PARAMETER = "fault"
NOTE = (
    "An operation is affected when it failed, when it took twice as long as any of its kind before the fault and 20 ms "
    "more, or when it waited in a silence: nobody got an answer for longer than chance explains. One that is under way "
    "when the run ends is neither failed nor affected by that alone: how long it would have lasted is not known. An "
    "outage goes from the intended start of the first affected operation to the end of the last; an operation that "
    "nobody had meant to start meanwhile cannot tell of it. Served again: as the platform says, no user asked."
)


class FailoverSection(StudySection):
    """`[failover]`: a fault in every run."""

    kill: Annotated[
        Literal["primary", "secondary", "agents"] | None, Flag("What is killed: primary, secondary or agents.")
    ] = Field(default=None, description="`primary`, `secondary` or `agents`")
    freeze: Annotated[Literal["primary", "secondary"] | None, Flag("What stands still: primary or secondary.")] = Field(
        default=None, description="`primary` or `secondary`"
    )
    cut: Annotated[Literal["channel"] | None, Flag("What is cut: channel.")] = Field(
        default=None, description="`channel`"
    )
    fill: Annotated[Literal["buffer"] | None, Flag("What fills up, of the log to the secondary: buffer.")] = Field(
        default=None, description="`buffer`"
    )
    lose: Annotated[Literal["store"] | None, Flag("What is lost, and then the primary killed: store.")] = Field(
        default=None, description="`store`"
    )
    at: Annotated[
        Annotated[float, Field(gt=0)] | None, Flag("Seconds after the steady state begins; else at random.", kind=float)
    ] = Field(default=None, description="seconds after the steady state begins; else at random")
    trials: Annotated[int, Field(ge=1, le=1000), Flag("How many runs.", kind=int, min=1, max=1000)] = Field(
        default=1, description="a whole number, 1 or more"
    )

    @property
    def fault(self) -> FaultKind:
        """The one that is asked for; raises UsageError for several, or none."""
        asked = {"kill": self.kill, "freeze": self.freeze, "cut": self.cut, "fill": self.fill, "lose": self.lose}
        named = [f"{verb}-{what}" for verb, what in asked.items() if what is not None]
        if len(named) != 1:
            raise UsageError(
                "Say one fault: --kill primary, --freeze primary, --cut channel, --fill buffer or --lose store."
            )
        return FaultKind(named[0])


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
        kept = failure.ledgers is None or not (failure.ledgers.lost or failure.ledgers.repeated)
        return kept and failure.outage.has_recovered


@dataclass(frozen=True, kw_only=True)
class FailoverAnswer(Answer):
    """What the fault cost in each trial."""

    fault: FaultKind
    trials: tuple[Trial, ...] = ()

    @property
    def is_negative(self) -> bool:
        """Whether a trial was not survived."""
        return any(trial.is_known and not trial.has_survived for trial in self.trials)


@dataclass(frozen=True)
class Failover:
    """n runs with one fault each."""

    workload: str
    fault: FaultKind
    trials: int
    steady_s: float
    at_s: float | None = None

    def requests(self) -> list[RunRequest]:
        """All of them."""
        return [self._request(number) for number in range(1, self.trials + 1)]

    def _request(self, number: int) -> RunRequest:
        at_s = self.at_s
        if at_s is None:
            at_s = self.steady_s * (EARLIEST + (LATEST - EARLIEST) * _chance(number))
        settings = {PARAMETER: str(PlannedFault(self.fault, round(at_s, 2)))}
        return RunRequest(key_of(number, self.workload, self.fault), self.workload, settings, number - 1)

    def next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run that is missing."""
        return first_missing(self.requests(), runs)

    def left(self, runs: Sequence[RunSummary]) -> int:
        """Runs that are missing."""
        return len(missing(self.requests(), runs))

    def answer(self, runs: Sequence[RunSummary]) -> FailoverAnswer:
        """What the fault cost in each."""
        trials = tuple(
            Trial(
                run.folder,
                float(run.request.settings[PARAMETER].partition("@")[2]),
                _told(run),
                run.platform,
                _foreign_pct(run),
            )
            for run in runs
        )
        return FailoverAnswer(
            workload=self.workload,
            is_answered=not missing(self.requests(), runs) and any(trial.is_known for trial in trials),
            headline=tuple(_headline(self.fault, trials)),
            fault=self.fault,
            trials=trials,
        )


def _told(run: RunSummary) -> Failure | None:
    """What a run says of its fault: nothing where the driver itself was late."""
    return None if run.is_driver_bound else run.failure


def _foreign_pct(run: RunSummary) -> float | None:
    return next((check.figure for check in run.broken() if check.id is CheckId.FOREIGN_CPU), None)


def _chance(number: int) -> float:
    """From 0 to 1, the same for each trial of a number."""
    return derived(0, PARAMETER, number) / (1 << 63)


def failing_at_most(survived: int, trials: int) -> float:
    """The largest share of failures that so many trials leave possible: the upper 95 % limit (Clopper, Pearson 1934).

    50 of 50 leave 5.8 %.
    """
    return float(scipy.special.betaincinv(trials - survived + 1, survived, LEVEL)) if survived else 1.0


def _headline(fault: FaultKind, trials: Sequence[Trial]) -> Iterator[str]:
    refused = next((trial.failure.refused for trial in trials if trial.failure and trial.failure.refused), "")
    if refused:
        yield refused
        return
    known = [trial for trial in trials if trial.is_known]
    if not known:
        yield "Too few operations ended before the fault to say what it cost. Give more load, or a later --at."
        return
    survived = sum(trial.has_survived for trial in known)
    most_pct = 100 * failing_at_most(survived, len(known))
    outages = [outage for trial in known if (outage := trial.failure and trial.failure.outage)]
    yield (
        f"{fault}{_of(known)}: {_silences(outages)}; {survived} of {len(known)} survived, up to {most_pct:.0f} % may "
        "fail (95 % limit)."
    )
    yield _outages(outages)
    ledgers = [trial.failure.ledgers for trial in known if trial.failure and trial.failure.ledgers]
    if ledgers:
        lost, repeated = sum(one.lost for one in ledgers), sum(one.repeated for one in ledgers)
        yield f"Transactions that users were told are done: {lost} lost, {repeated} repeated."
    disturbed = [trial.foreign_pct for trial in known if trial.foreign_pct is not None]
    if disturbed:
        yield (
            f"Other programs used up to {max(disturbed):.0f} % of the host in {len(disturbed)} of {len(known)} trials: "
            "what users waited for there may be the host's. Run it again on an idle one."
        )
    if len(known) < len(trials):
        yield f"{len(trials) - len(known)} of {len(trials)} trials say nothing and are left out."


def _of(trials: Sequence[Trial]) -> str:
    """What the fault hit."""
    platforms = {trial.platform for trial in trials if trial.platform}
    if platforms == {PROCESS}:
        return " of a plain process, which nothing protects or restarts (`--platform pair` does)"
    return f" of {' and '.join(sorted(platforms))}" if platforms else ""


def _silences(outages: Sequence[Outage]) -> str:
    """The longest time without a good answer from the fault on, beside that before it."""
    known = [outage.silence_s for outage in outages if outage.silence_s is not None]
    mute = len(outages) - len(known)
    parts = []
    if known:
        usual = f" (median {seconds(median(known))})" if len(known) > 1 else ""
        parts.append(f"users had no good answer for {seconds(max(known))} at most{usual}")
    if mute:
        parts.append(f"users had no good answer any more in {mute} of {len(outages)} trials")
    before = [outage.silence_before_s for outage in outages if outage.silence_before_s is not None]
    if before:
        parts.append(f"before the fault for {seconds(max(before))} at most")
    return ", ".join(parts)


def _outages(outages: Sequence[Outage]) -> str:
    affected = sum(outage.affected for outage in outages)
    usual_pct = max(outage.failed_before_pct for outage in outages)
    later = sum(outage.failed_later for outage in outages)
    beside = f" {later} operation{'s' * (later != 1)} failed later." if later else ""
    beside += f" Before the fault up to {number(usual_pct, 2)} % of the operations failed as well." if usual_pct else ""
    if not affected and all(outage.has_recovered for outage in outages):
        return f"No operation failed at the fault, or took more than {SLOW:g} times as long as any before.{beside}"
    lengths = [outage.seconds for outage in outages]
    endless = sum(not outage.has_recovered for outage in outages)
    open_end = f" ({endless} of {len(outages)} were not over when the run ended)" if endless else ""
    usual, longest = number(median(lengths), 2), number(max(lengths), 2)
    failed, unanswered = (sum(getattr(outage, name) for outage in outages) for name in ("failed", "unanswered"))
    had_none = f", {unanswered} had no answer when the run ended" if unanswered else ""
    return (
        f"Outage as users saw it: median {usual} s, at most {longest} s{open_end}; {affected} operations affected, "
        f"{failed} of them failed{had_none}.{beside}"
    )


def blocks(answer: FailoverAnswer, workload: StudiedWorkload, runs: Sequence[RunSummary]) -> Iterator[Block]:
    """The outages in order of length, and a table of all trials."""
    outages = [(trial, trial.failure.outage) for trial in answer.trials if trial.failure and trial.failure.outage]
    if outages:
        longest, _ = max(outages, key=lambda pair: pair[1].seconds)
        yield Gallery([_picture(longest)])
    if len(outages) > 1:
        lengths = sorted(outage.seconds for _, outage in outages)
        rows = [
            {"x": 100 * (at + 1) / len(lengths), "y": value, "series": "outage"} for at, value in enumerate(lengths)
        ]
        plot = Plot("share of trials, %", "outage, s", lines=rows, points=rows)
        yield Gallery([Figure("Outages", "From the shortest to the longest.", plot)])
    titles = (
        *("fault at, s", "longest without a good answer, s", "the same before the fault, s", "outage, s", "affected"),
        *("failed", "served again, s", "protected again, s", "throughput afterwards, %"),
    )
    yield Table([*map(Column, titles), Column("run", ColumnKind.LONG)], list(map(_row, answer.trials)))
    yield Paragraph(NOTE, Tone.QUIET)


def _picture(trial: Trial) -> Figure:
    """Response times about the fault."""
    seen = trial.failure.seen if trial.failure else ()
    points = [
        {"x": one.at_s, "y": one.lasted_s, "series": "answered" if one.is_good else "failed"}
        for one in seen
        if one.lasted_s is not None
    ]
    plot = Plot(
        "intended start after the fault, s", "response time, s", points=points, marks=[{"x": 0.0, "label": "fault"}]
    )
    return Figure(f"Operations about the fault of {trial.run}", "The longest outage of all trials.", plot)


def _row(trial: Trial) -> Row:
    failure = trial.failure or Failure()
    outage = failure.outage
    if outage is None:
        return Row([f"{trial.at_s:g}", *[""] * 8, trial.run])
    return Row(
        [
            f"{trial.at_s:g}",
            "never" if outage.silence_s is None else number(outage.silence_s, 2),
            number(outage.silence_before_s, 2),
            number(outage.seconds, 2),
            str(outage.affected),
            str(outage.failed),
            number(failure.live_s, 2),
            number(failure.protected_s, 2),
            number(outage.throughput_pct, 2),
            trial.run,
        ]
    )


def make(section: FailoverSection, context: StudyContext) -> Failover:
    """The question about one workload; raises UsageError."""
    steady_s = context.profile.phases.steady_s
    if section.at is not None and section.at >= steady_s:
        raise UsageError(f"The steady state is over after {steady_s:g} s; a fault at {section.at:g} s is too late.")
    return Failover(context.workload.name, section.fault, section.trials, steady_s, section.at)


KIND = StudyKind(
    name="failover",
    question="What does a fault cost the users?",
    help="""Inject a fault under load: the outage that users saw, what was lost, how long until all is well.

    [bold]loadstone failover support --sessions 20 --platform pair --kill primary[/]

    [bold]loadstone failover support --sessions 20 --machine platform=vm,restart=true --kill primary --trials 5[/]
    """,
    section=FailoverSection,
    answer=FailoverAnswer,
    make=make,
    blocks=blocks,
    learns_from_invalid=True,
    rank=6,
)
