"""`sweep`: how it is declared. Pure."""

from typing import Annotated

from pydantic import Field

from loadstone.model.reading import Flag
from loadstone.study.grid import Over, is_platform_among
from loadstone.study.kind import StudySection
from loadstone.study.parameters import has_load


class SweepSection(StudySection):
    """`[sweep]`: parameters over points."""

    over: Over = Field(description='a table as { sessions = [50, 100], "server.threads" = [1, 2] }')
    rounds: Annotated[int, Field(ge=1, le=1000), Flag("Number of runs at each point.", kind=int, min=1, max=1000)] = (
        Field(default=1, description="number of runs at each point, 1 or more")
    )

    @property
    def brings_load(self) -> bool:
        """Where the load is varied."""
        return has_load(self.over)

    @property
    def varies_platform(self) -> bool:
        """Where it is one of the parameters."""
        return is_platform_among(self.over)
