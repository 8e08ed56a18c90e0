"""How a workload says what comes next."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.model.workload.bounds import LARGEST_WHOLE, Positive, Probability

END = "end"
"""The pseudo-state in which a user session ends as its user meant it to."""


class MixKind(StrEnum):
    """How the next state is chosen."""

    MATRIX = "matrix"
    FLAT = "flat"
    SEQUENCE = "sequence"


class State(Section):
    """A node of the mix that is not simply an operation of its own name."""

    operation: str = Field(description="the name of an operation")
    set: dict[str, str] = Field(default_factory=dict, description="values to set before it, a table of texts")
    when: tuple[str, ...] = Field(default=(), description="texts that must all be non-empty, or the sequence skips it")
    repeat: Annotated[int, Field(ge=1, le=1000)] = Field(default=1, description="number of repetitions in a sequence")


class Mix(Section):
    """How the next operation is chosen."""

    kind: MixKind = Field(description="`matrix`, `flat` or `sequence`")
    """How the next state is chosen: by transition probabilities, by shares, or in a fixed order."""
    start: str | None = Field(default=None, description="the state every session begins with")
    from_: dict[str, dict[str, Probability]] = Field(
        default_factory=dict, alias="from", description="for each state, { other = probability, ... }"
    )
    states: dict[str, State] = Field(default_factory=dict, description="states that need an operation or values named")
    shares: dict[str, Positive] = Field(default_factory=dict, description="{ state = share, ... }, shares above 0")
    operations_per_session: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] | None = Field(
        default=None, description="1 or more"
    )
    """Operations of a user session, with the kind `flat`."""
    sequence: tuple[str, ...] = Field(default=(), description="the states in order, a list")
