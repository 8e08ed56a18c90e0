"""`protection`: how it is declared. Pure."""

from typing import Annotated

from pydantic import Field

from loadstone.model.reading import Flag
from loadstone.study.difference import LEAST_PAIRS
from loadstone.study.kind import StudySection

QUICK_PAIRS = 1
"""Pairs of each workload in the quick form: every figure once. An interval takes `LEAST_PAIRS`."""


class ProtectionSection(StudySection):
    """`[protection]`: each workload without and with protection."""

    pairs: Annotated[
        Annotated[int, Field(ge=1, le=1000)] | None,
        Flag(
            f"Number of run pairs of each workload. Default: {LEAST_PAIRS}; with --quick {QUICK_PAIRS}.",
            kind=int,
            min=1,
            max=1000,
        ),
    ] = Field(default=None, description=f"pairs of runs, 1 or more; unset: {LEAST_PAIRS}, in short {QUICK_PAIRS}")
    quick: Annotated[bool, Flag("Use short runs (profile brief), and few of them.", name="--quick", kind=bool)] = Field(
        default=False, description="true for short runs (profile `brief`)"
    )

    @property
    def pair_count(self) -> int:
        """Pairs of runs of each workload."""
        return self.pairs or (QUICK_PAIRS if self.quick else LEAST_PAIRS)

    @property
    def is_quick(self) -> bool:
        """Whether its runs are short."""
        return self.quick

    @property
    def varies_platform(self) -> bool:
        """Its runs are made in pairs, whatever else is said of the machine."""
        return True
