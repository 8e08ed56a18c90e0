"""`peaks`: how it is declared. Pure."""

from pydantic import Field

from loadstone.study.grid import Over, is_platform_among
from loadstone.study.search.section import SearchOptions


class PeaksSection(SearchOptions):
    """`[peaks]`: parameters over points, and how each peak is searched."""

    over: Over = Field(
        description='a table as { machines = ["1x1", "1x2", "2x1"], platform = ["process", "container"] }'
    )

    @property
    def varies_platform(self) -> bool:
        """Where it is one of the parameters."""
        return is_platform_among(self.over)
