"""`protection`: how it is declared. Pure."""

from typing import Annotated

from pydantic import Field

from loadstone.model.reading import Flag
from loadstone.study.difference import LEAST_PAIRS
from loadstone.study.kind import StudySection


class ProtectionSection(StudySection):
    """`[protection]`: each workload without and with protection."""

    pairs: Annotated[
        int, Field(ge=1, le=1000), Flag("Number of run pairs of each workload.", kind=int, min=1, max=1000)
    ] = Field(default=LEAST_PAIRS, description="pairs of runs, 1 or more")
    quick: Annotated[bool, Flag("Use short runs (profile brief).", name="--quick", kind=bool)] = Field(
        default=False, description="true for short runs (profile `brief`)"
    )

    @property
    def is_quick(self) -> bool:
        """Whether its runs are short."""
        return self.quick

    @property
    def varies_platform(self) -> bool:
        """Its runs are made in pairs, whatever else is said of the machine."""
        return True
