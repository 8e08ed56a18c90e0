"""Parameters of tests of which some are further combinations: `make test-combinations` runs those."""

from collections.abc import Collection, Iterable

import pytest
from _pytest.mark.structures import ParameterSet


def mark_further(values: Iterable[object], further: Collection[object]) -> list[ParameterSet]:
    """Returns each value as a parameter, with the mark `combination` where others have its parts."""
    return [pytest.param(value, marks=[pytest.mark.combination] * (value in further)) for value in values]
