"""Numbers as people read them."""

import pytest

from loadstone.model.numbers import format_chance


@pytest.mark.parametrize(
    ("p", "places", "text"),
    [
        (0.031, 3, "p = 0.031"),
        (0.0004, 3, "p < 0.001"),
        (0.0004, 4, "p = 0.0004"),
        (0.001, 3, "p = 0.001"),
        (0.0, 2, "p < 0.01"),
    ],
)
def test_a_chance_too_small_to_be_shown_is_a_bound(p: float, places: int, text: str) -> None:
    assert format_chance(p, places) == text
