"""What breaks the promise of a pair to its clients, and what does not."""

import pytest

from tests.vm.client_view import Frame, find_violations


def sent(side: str, first: int, last: int) -> list[Frame]:
    """A run of frames."""
    return [(side, number) for number in range(first, last + 2, 2)]


@pytest.mark.parametrize(
    ("frames", "own_from"),
    [
        pytest.param(sent("a", 0, 20), None, id="nothing happens"),
        pytest.param(sent("a", 0, 10) + sent("b", 12, 20), 12, id="all had left"),
        pytest.param(sent("a", 0, 10) + sent("b", 6, 20), 12, id="the last had left, and nobody knew"),
        pytest.param(sent("a", 0, 10) + sent("b", 12, 20), 18, id="the log held more than had left"),
        pytest.param(
            sent("a", 0, 10) + sent("b", 8, 14) + sent("a", 12, 14) + sent("b", 16, 20), 16, id="late, acknowledged"
        ),
    ],
)
def test_a_pair_that_keeps_its_promise_is_not_blamed(frames: list[Frame], own_from: int | None) -> None:
    assert find_violations(frames, own_from) == []


@pytest.mark.parametrize(
    ("frames", "own_from", "why"),
    [
        pytest.param(sent("a", 0, 10) + sent("b", 14, 20), 14, "b sent 14 where 12 was next", id="lost"),
        pytest.param(sent("a", 0, 4) + sent("a", 8, 10), None, "a sent 8 where 6 was next", id="lost by one side"),
        pytest.param(sent("a", 0, 6) + sent("a", 6, 10), None, "a sent 6 after 6", id="twice by one side"),
        pytest.param(sent("a", 0, 6) + sent("a", 2, 10), None, "a sent 2 after 6", id="backwards"),
        pytest.param(sent("a", 0, 6) + sent("b", 8, 8), None, "b sent 8 and did not take over", id="not live"),
        pytest.param(
            sent("a", 0, 10) + sent("b", 8, 20) + sent("a", 12, 14), 12, "a sent 12, but b serves", id="both serve"
        ),
        pytest.param(
            sent("a", 0, 10) + sent("b", 8, 12) + sent("a", 12, 16) + sent("b", 14, 16), 14,
            "a sent 14, but b serves", id="both serve in turns",
        ),
    ],
)  # fmt: skip
def test_each_broken_promise_is_named(frames: list[Frame], own_from: int | None, why: str) -> None:
    assert any(reason.startswith(why) for reason in find_violations(frames, own_from))
