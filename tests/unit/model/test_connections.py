"""How many requests of a user are under way at a time, by protocol."""

import pytest
from pydantic import ValidationError

from loadstone.model.workload import Connections


@pytest.mark.parametrize(
    ("declared", "parallel"),
    [
        ({}, 2),
        ({"protocol": "http2"}, 100),
        ({"protocol": "http2", "parallel": 1}, 1),
        ({"protocol": "http2", "parallel": 128}, 128),
        ({"protocol": "http2", "embedded_bytes_per_s": 1e5}, 2),
        ({"parallel": 16}, 16),
    ],
)
def test_http2_has_as_many_as_browsers_unless_they_are_declared(declared: dict[str, object], parallel: int) -> None:
    assert Connections.model_validate(declared).parallel == parallel


@pytest.mark.parametrize(
    ("declared", "most"), [({"parallel": 17}, "1 to 16"), ({"protocol": "http2", "parallel": 129}, "128")]
)
def test_more_than_a_protocol_allows_is_refused(declared: dict[str, object], most: str) -> None:
    with pytest.raises(ValidationError, match=most):
        Connections.model_validate(declared)
