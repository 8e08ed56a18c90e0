"""Figures that the test behind a workload published, and the size of its data."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.model.workload.bounds import LARGEST_WHOLE, Positive


class DataScale(StrEnum):
    """Size of an application's data."""

    WORKLOAD = "workload"
    PUBLISHED = "published"


class Published(Section):
    """Published figures by operation, for the simulator and for comparison."""

    response_s: dict[str, Positive] = Field(default_factory=dict, description="seconds by operation")
    bytes: dict[str, Positive] = Field(default_factory=dict, description="bytes by operation")
    scale: dict[str, Annotated[int, Field(ge=1, le=LARGEST_WHOLE)]] = Field(
        default_factory=dict, description="numbers of [scale] that `--scale published` uses instead"
    )
