"""On which hosts the halves of a pair come, what its network is, and files that are carried between them."""

import asyncio
import ssl
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from loadstone.fleet.contract import FleetError
from loadstone.fleet.dealing import Dealer, Room
from loadstone.fleet.fake import FakeFleet
from loadstone.fleet.open import OpenFleet
from loadstone.fleet.pairs.carrying import CARRIED_PIECE_BYTES, HOLE, fetch_file, offer_file
from loadstone.fleet.pairs.requests import HalfFacts
from loadstone.fleet.pairs.spread import SpreadPair, advise
from loadstone.fleet.reserved import FleetHost
from loadstone.fleet.routes import compute_block, compute_wide_block
from loadstone.model.fleet import Dealing, FleetSpec, HostSpec
from loadstone.platforms.fabric import Member, WideNetwork, compute_mac
from loadstone.platforms.pair.command import RemotePeer
from loadstone.platforms.registry import read_machine
from loadstone.services import reference

ROLES = {"d1": "driver", "s1": "system", "s2": "system", "s3": "system", "w1": "witness"}


def fleet(
    roles: dict[str, str], dealing: Dealing = Dealing.SPREAD, addresses: dict[str, int] | None = None
) -> OpenFleet:
    """One whose hosts were only declared."""
    at = {name: number for number, name in enumerate(roles, 2)} | (addresses or {})
    specs = {
        name: HostSpec.model_validate({"roles": role.split("+"), "addresses": {"public": f"10.0.0.{at[name]}"}})
        for name, role in roles.items()
    }
    spec = FleetSpec.model_validate({"hosts": {name: one.model_dump() for name, one in specs.items()}})
    engine = FakeFleet(spec, "a test")
    hosts = {name: FleetHost(name, one, engine, number) for number, (name, one) in enumerate(specs.items())}
    rooms = {name: Room(4, 4096) for name, role in roles.items() if "system" in role}
    return OpenFleet(spec, hosts, "10.0.0.1", Dealer(dealing, rooms), Path())


def homes(fleet: OpenFleet, declared: str, together: str = "") -> list[str]:
    """Names of the hosts that a machine would come onto: of a pair over hosts its sides' and its witness's."""
    place = fleet.place_of(read_machine(declared), together)
    assert place is not None
    if isinstance(place, SpreadPair):
        return [place.homes.first.name, place.homes.second.name, place.homes.witness.name]
    return [place.host.name]


def test_halves_are_dealt_to_two_hosts_apart_from_the_witness() -> None:
    spread = fleet(ROLES)
    assert homes(spread, "platform=pair") == ["s1", "s2", "w1"]
    assert homes(spread, "platform=pair,host=s3+s1") == ["s3", "s1", "w1"]
    assert homes(spread, "platform=pair,host=s2") == ["s2"]
    assert homes(spread, "platform=container,host=s2") == ["s2"]


def test_the_primaries_of_two_hosts_are_crossed_and_each_has_four_pairs_at_most() -> None:
    two = fleet({"s1": "system", "s2": "system", "w1": "witness"})
    assert [homes(two, "platform=pair")[:2] for _ in range(4)] == [["s1", "s2"], ["s2", "s1"]] * 2
    with pytest.raises(FleetError, match="s1, s2 have sides of 4 pairs each"):
        homes(two, "platform=pair")
    assert homes(two, "platform=pair,host=s1+s2") == ["s1", "s2", "w1"]


def test_the_hosts_of_a_pair_are_chosen_before_there_is_a_pair() -> None:
    named = read_machine("platform=pair,host=s3+s1")
    assert [host.name for host in fleet(ROLES).choose_pair_hosts(read_machine("platform=pair"))] == ["s1", "s2"]
    assert [host.name for host in fleet(ROLES).choose_pair_hosts(named)] == ["s3", "s1"]
    with pytest.raises(FleetError, match="two hosts of role `system` and one of role `witness`"):
        fleet({"s1": "system", "w1": "witness"}).choose_pair_hosts(read_machine("platform=pair"))


def test_a_host_with_four_pairs_is_left_out_while_two_others_are_free() -> None:
    three = fleet(ROLES)
    for _ in range(4):
        homes(three, "platform=pair,host=s1+s2")
    assert homes(three, "platform=container") == ["s1"], "other machines still come there"
    with pytest.raises(FleetError, match="s1, s2 have sides"):
        homes(three, "platform=pair")
    four = fleet({**ROLES, "s4": "system"})
    for _ in range(4):
        homes(four, "platform=pair,host=s1+s2")
    assert set(homes(four, "platform=pair")) == {"s3", "s4", "w1"}


def test_the_halves_of_a_tiles_pairs_begin_where_the_tile_is() -> None:
    spread = fleet(ROLES)
    spread.homes["tile1"] = "s3"
    first, second, witness = homes(spread, "platform=pair", "tile1")
    assert (first, witness) == ("s3", "w1") and second != "s3"


def test_without_a_witness_apart_from_two_hosts_a_pair_is_whole_on_one() -> None:
    assert homes(fleet({"s1": "system", "s2": "system"}), "platform=pair") == ["s1"]
    assert homes(fleet({"s1": "system", "s2": "system+witness"}), "platform=pair") == ["s1"]
    assert homes(fleet(ROLES, addresses=dict.fromkeys(ROLES, 9)), "platform=pair") == ["s1"]


def test_a_machine_that_is_not_protected_is_on_one_host() -> None:
    assert homes(fleet(ROLES), "platform=pair,protected=false") == ["s1"]
    with pytest.raises(FleetError, match="runs on one host"):
        homes(fleet(ROLES), "platform=pair,protected=false,host=s1+s2")


def test_a_disk_that_both_sides_share_keeps_them_on_one_host() -> None:
    assert homes(fleet(ROLES), "platform=pair,disk=64,disks=shared") == ["s1"]
    with pytest.raises(FleetError, match="disks=replicated"):
        homes(fleet(ROLES), "platform=pair,disk=64,disks=shared,host=s1+s2")


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ("platform=pair,host=s1+s1", "not on three machines"),
        ("platform=pair,host=s1+s2+s3", "names 3 hosts"),
        ("platform=pair,host=s1+d1", "`d1` is not a host of role `system`"),
        ("platform=container,host=s1+s2", r"`s1\+s2` is not a host"),
    ],
)
def test_hosts_that_make_no_pair_are_refused(declared: str, why: str) -> None:
    with pytest.raises(FleetError, match=why):
        homes(fleet(ROLES), declared)


def test_named_hosts_need_a_witness_that_is_neither() -> None:
    with pytest.raises(FleetError, match="no host of role `witness`"):
        homes(fleet({"s1": "system", "s2": "system+witness"}), "platform=pair,host=s1+s2")


def test_packed_halves_go_where_there_is_room() -> None:
    packed = fleet(ROLES, Dealing.PACK)
    assert homes(packed, "platform=pair,memory=3000") == ["s1", "s2", "w1"]
    with pytest.raises(FleetError, match="No host has"):
        homes(packed, "platform=pair,memory=3000")


def test_what_is_for_all_of_a_wide_network_goes_to_hosts_with_sides_alone() -> None:
    lab, driver, first, second = (Member(number, f"10.0.0.{number}", number > 2) for number in (1, 2, 3, 4))
    wide = WideNetwork("wide", IPv4Network("10.207.192.0/24"), 7, (lab, driver, first, second))
    assert wide.list_peers(driver) == (first, second)
    assert wide.list_peers(first) == (lab, driver, second)
    assert wide.get_address(driver) == "10.207.192.2" and compute_mac(wide.get_address(driver)) == "52:54:0a:cf:c0:02"


def test_no_hosts_machines_have_addresses_of_wide_networks() -> None:
    assert compute_wide_block() == IPv4Network("10.207.192.0/18")
    assert not any(compute_block(number).overlaps(compute_wide_block()) for number in range(31))


def papers(folder: Path) -> RemotePeer:
    """A host's, of an authority of its own."""
    folder.mkdir()
    files = reference.create_certificate(["127.0.0.1"])
    for name, text in files.items():
        (folder / name).write_text(text)
    places = (folder / name for name in ("server.pem", "server-key.pem", "authority.pem"))
    return RemotePeer("127.0.0.1", "", *places)


def test_files_come_whole_with_their_holes_and_to_the_pairs_own_hosts_alone(tmp_path: Path) -> None:
    ours, strangers = papers(tmp_path / "ours"), papers(tmp_path / "strangers")
    content = b"state" * 100_000 + bytes(3 * CARRIED_PIECE_BYTES) + b"end"
    source, into = tmp_path / "source", tmp_path / "into"
    source.write_bytes(content)

    async def carry() -> None:
        async with offer_file(source, ours) as port:
            await fetch_file(into, "127.0.0.1", port, ours)
            with pytest.raises(FleetError, match="could not be copied"):
                await fetch_file(tmp_path / "stolen", "127.0.0.1", port, strangers)
            without = ssl.create_default_context(cafile=str(ours.authority))
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=without)
            with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
                await reader.readexactly(8)
            writer.close()
        with pytest.raises(FleetError, match="could not be copied"):
            await fetch_file(tmp_path / "late", "127.0.0.1", port, ours)

    asyncio.run(carry())
    assert into.read_bytes() == content
    assert into.stat().st_blocks * 512 < len(content) - 2 * CARRIED_PIECE_BYTES + 4 * HOLE
    assert not (tmp_path / "stolen").exists() and not (tmp_path / "late").exists()


def facts_of(processor: str, clock_mhz: float, link_mbit_per_s: int) -> HalfFacts:
    """A host of these properties."""
    same = dict.fromkeys(("folder", "tap", "image", "kernel", "address", "mac", "gateway", "build"), "")
    return HalfFacts(
        **same,
        is_locked=True,
        disk_mib=0,
        is_known=True,
        processor=processor,
        clock_mhz=clock_mhz,
        link_mbit_per_s=link_mbit_per_s,
    )


@pytest.mark.parametrize(
    ("other", "advice"),
    [
        (("E5440", 2400.0, 1000), {}),
        (("E5440", 0.0, 0), {}),
        (("X5365", 2800.0, 1000), {"advice": "processor models: differ: E5440, X5365"}),
        (
            ("E5440", 2399.0, 100),
            {
                "advice": "clocks: 2399 to 2800 MHz, more than 400 apart: the slower side lags; "
                "links: s2 100 Mbit/s: less than 1000 Mbit/s, so the log may fill it"
            },
        ),
    ],
)
def test_hosts_whose_processors_or_links_differ_from_the_advice_are_named(
    other: tuple[str, float, int], advice: dict[str, str]
) -> None:
    assert advise({"s1": facts_of("E5440", 2800.0, 1000), "s2": facts_of(*other)}) == advice
