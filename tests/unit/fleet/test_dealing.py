"""On which hosts machines come that name none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.fleet.contract import FleetError
from loadstone.fleet.dealing import Dealer, Room
from loadstone.model.fleet import Dealing

ROOMS = {"a": Room(4, 4096), "b": Room(2, 2048)}


def test_spread_machines_come_onto_the_hosts_in_turn() -> None:
    dealer = Dealer(Dealing.SPREAD, ROOMS)
    assert [dealer.choose_host([Room(1, 512)]) for _ in range(4)] == ["a", "b", "a", "b"]


def test_packed_machines_fill_one_host_before_the_next() -> None:
    dealer = Dealer(Dealing.PACK, ROOMS)
    assert [dealer.choose_host([Room(2, 1024)]) for _ in range(3)] == ["a", "a", "b"]
    with pytest.raises(FleetError, match=r"No host has 1 cores and 64 MiB left: a has 0 cores and 2048 MiB; b has 0"):
        dealer.choose_host([Room(1, 64)])


def test_machines_that_belong_together_find_room_together_or_not_at_all() -> None:
    dealer = Dealer(Dealing.PACK, {"a": Room(2, 1024), "b": Room(4, 4096)})
    assert dealer.choose_host([Room(1, 512)] * 3) == "b"
    assert dealer.choose_host([Room(1, 512)] * 2) == "a"


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2048)), max_size=30))
def test_packing_never_gives_more_than_there_is(sizes: list[tuple[int, int]]) -> None:
    dealer = Dealer(Dealing.PACK, ROOMS)
    for cores, memory_mib in sizes:
        try:
            dealer.choose_host([Room(cores, memory_mib)])
        except FleetError:
            continue
    for name, room in ROOMS.items():
        left = room.subtract(dealer.taken.get(name, []))
        assert left.cores >= 0 and left.memory_mib >= 0
