"""`predict`: from a few measured loads to throughput, response time and peak beyond them; then checked. Pure."""

from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.errors import UsageError
from loadstone.model.reading import Flag, refusing
from loadstone.model.workload import Workload
from loadstone.model.workload.operation import RateLimit, TimeLimit
from loadstone.study.kind import StudyContext, StudyKind, StudySection
from loadstone.study.kinds.predict.answer import PredictAnswer
from loadstone.study.kinds.predict.fitting import FIGURES, MOST_ROUNDS, Predict
from loadstone.study.kinds.predict.page import blocks
from loadstone.study.parameters import Point, Points, points_text
from loadstone.study.service_model import MODEL_ERROR, Limits
from loadstone.study.until import Until, read_until

PREDICTED_PCT = (95.0, 99.0)
"""Shares of good and of tolerable operations for which a peak can be predicted."""


def read_loads(text: str) -> tuple[str, ...]:
    """Reads `20,40,60`."""
    return tuple(word for word in text.split(",") if word)


class PredictSection(StudySection):
    """`[predict]`: from measured loads to others."""

    load: Annotated[Literal["sessions", "rate"], Flag("What the load is: sessions or rate.")] = Field(
        default="sessions", description="`sessions` or `rate`"
    )
    at: Annotated[Points, Flag("Loads to measure, as 20,40,60.", metavar="LOADS", read=read_loads)] = Field(
        description="the loads to measure, at least two, as [20, 40, 60]"
    )
    check: Annotated[
        tuple[Point, ...], Flag("Loads to measure afterwards, to check by.", metavar="LOADS", read=read_loads)
    ] = Field(default=(), description="loads to measure afterwards, to check by")
    rounds: Annotated[int, Field(ge=1, le=100), Flag("Times each load is run.", kind=int, min=1, max=100)] = Field(
        default=3, description="times each load is run, 1 or more"
    )
    until: Annotated[
        Annotated[Until, refusing(partial(read_until, names=FIGURES))] | None,
        Flag("Go on until what is predicted is so sure, as 'mean +-10%'.", metavar="FIGURE +-PCT%"),
    ] = Field(default=None, description='a figure and how sure it is to be, as "mean +-10%" or "peak +-5%"')
    most_rounds: Annotated[
        int, Field(ge=1, le=100), Flag("Times each load is run after which that ends.", kind=int, min=1, max=100)
    ] = Field(default=MOST_ROUNDS, description="a whole number, 1 or more")
    workers: Annotated[
        Annotated[int, Field(ge=1, le=100_000)] | None,
        Flag("Operations the server works on at once: its workers, or its cores.", kind=int, min=1, max=100_000),
    ] = Field(default=None, description="how many operations the server works on at once, 1 or more")

    @property
    def brings_load(self) -> bool:
        """It says at which loads to measure."""
        return True


def limits_of(workload: Workload) -> Limits | None:
    """The limits of response time, where all operations have the same."""
    own = [operation.limit for operation in workload.operations.values() if operation.limit is not None]
    if any(isinstance(limit, RateLimit) for limit in own):
        return None
    times = {(limit.good_s, limit.tolerable_s) for limit in own if isinstance(limit, TimeLimit)}
    common = workload.limits
    shares = (common.good_share_pct, common.tolerable_share_pct)
    if times - {(common.good_s, common.tolerable_s)} or shares != PREDICTED_PCT:
        return None
    return Limits(common.good_s, common.tolerable_s)


def make(section: PredictSection, context: StudyContext) -> Predict:
    """The question about one workload; raises UsageError."""
    measured, check = points_text(section.at), points_text(section.check)
    if len(measured) < 2:
        raise UsageError("One load tells nothing about others. Give at least two to measure: --at 20,40,60.")
    workload = context.workload
    limits = limits_of(workload)
    until, most = section.until, max(section.rounds, section.most_rounds)
    if until is not None and until.pct <= 100 * MODEL_ERROR:
        raise UsageError(
            f"No prediction is surer than its model, {100 * MODEL_ERROR:g} %. Ask for more: --until 'mean +-10%'."
        )
    return Predict(
        workload.name, {}, section.load, measured, check, limits, section.rounds, section.workers, until, most
    )


KIND = StudyKind(
    name="predict",
    question="What do a few loads say of others?",
    help="""From a few measured loads predict throughput, response time and peak of others, with intervals.

    [bold]loadstone predict support --at 20,40,60 --check 120[/]

    [bold]loadstone predict support --at 20,40,60 --check 120 --until "mean +-10%"[/]
    """,
    section=PredictSection,
    answer=PredictAnswer,
    make=make,
    blocks=blocks,
    instead_of_load="--at says which loads are measured.",
    rank=5,
)
