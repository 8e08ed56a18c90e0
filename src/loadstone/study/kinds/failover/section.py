"""`failover`: how it is declared. Pure."""

from typing import Annotated, Literal

from pydantic import Field

from loadstone.model.errors import UsageError
from loadstone.model.fault import FaultKind
from loadstone.model.reading import Flag
from loadstone.study.kind import StudySection


class FailoverSection(StudySection):
    """`[failover]`: a fault in every run."""

    kill: Annotated[
        Literal["primary", "secondary", "agents"] | None, Flag("Process to kill: primary, secondary or agents (both).")
    ] = Field(default=None, description="`primary`, `secondary` or `agents`")
    freeze: Annotated[
        Literal["primary", "secondary"] | None, Flag("Side to freeze, machine and agent: primary or secondary.")
    ] = Field(default=None, description="`primary` or `secondary`")
    cut: Annotated[Literal["channel"] | None, Flag("Connection to cut between primary and secondary: channel.")] = (
        Field(default=None, description="`channel`")
    )
    fill: Annotated[
        Literal["buffer"] | None, Flag("Buffer to fill with log that the secondary does not accept: buffer.")
    ] = Field(default=None, description="`buffer`")
    lose: Annotated[Literal["store"] | None, Flag("Storage to lose before the primary is killed: store.")] = Field(
        default=None, description="`store`"
    )
    on: Annotated[
        str,
        Flag(
            "Machine to inject the fault into, by its role, or by its copy and role: db, 2.web. Default: the first "
            "that users reach.",
            metavar="MACHINE",
        ),
    ] = Field(default="", description="role, such as `db`, or copy and role, such as `2.web`; default: the first")
    at: Annotated[
        Annotated[float, Field(gt=0)] | None,
        Flag("Time of the fault, in seconds after the steady state begins. Default: random.", kind=float),
    ] = Field(default=None, description="seconds after the steady state begins; default: at random")
    trials: Annotated[int, Field(ge=1, le=1000), Flag("Number of runs.", kind=int, min=1, max=1000)] = Field(
        default=1, description="a whole number, 1 or more"
    )

    @property
    def fault(self) -> FaultKind:
        """The one that is asked for; raises UsageError for several, or none."""
        targets = {"kill": self.kill, "freeze": self.freeze, "cut": self.cut, "fill": self.fill, "lose": self.lose}
        named = [f"{verb}-{target}" for verb, target in targets.items() if target is not None]
        if len(named) != 1:
            raise UsageError(
                "Use exactly one fault: --kill primary, --freeze primary, --cut channel, --fill buffer or --lose store."
            )
        return FaultKind(named[0])
