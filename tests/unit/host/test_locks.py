"""The sign that a machine is being measured on."""

from loadstone.host.locks import measuring


def test_the_second_of_two_measurements_knows_of_the_first() -> None:
    with measuring() as first, measuring() as second:
        assert not (first and second)
        assert not second
