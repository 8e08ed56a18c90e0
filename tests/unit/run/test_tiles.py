"""Tiles as declared: what they bear, when they start, what is refused; and the books they are audited by."""

import re
from collections.abc import Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from loadstone.judge import ledger
from loadstone.model.errors import StudyError, UsageError
from loadstone.model.fault import read_fault
from loadstone.model.figures import Audit
from loadstone.model.fleet import FleetSpec, HostRole, HostSpec
from loadstone.model.load import Population
from loadstone.model.machine import PUBLIC, MachineSpec, Placement
from loadstone.model.records.check import Outcome
from loadstone.model.target import Target
from loadstone.model.tile import Role, read_tile
from loadstone.model.tiles import Tiles
from loadstone.platforms.registry import read_machine
from loadstone.run.criteria import compute_mean_pause_s
from loadstone.run.deployment import Deployment
from loadstone.run.disclosure import record_placement
from loadstone.run.executor import DriverJob
from loadstone.run.manifest import declare_manifest
from loadstone.run.plan import LOGGED, WorkloadLoad
from loadstone.run.spec import RunSpec
from loadstone.run.tiles.spec import (
    build_tile_profile,
    build_tiles_spec,
    find_tile,
    list_shipped_tiles,
    list_tile_loads,
    replace_tile_loads,
)
from loadstone.store.folder import ResultFolder
from loadstone.testbed import Testbed
from loadstone.testbed.testbed import TileUp
from loadstone.testbed.tiles import PlacedTiles, describe_machines
from loadstone.workloads import load
from loadstone.workloads.shares import compute_shares
from tests.places import DATA, PROJECT
from tests.tiles import place_tiles

TINY = DATA / "tiny-tile.toml"


def order(count: int, fraction: float | None = None, **choices: Any) -> RunSpec:
    """A run of so many classic tiles."""
    tiles = Tiles(find_tile("classic"), list_tile_loads(count, fraction), **choices)
    return build_tiles_spec("x", tiles, Path())


def parts_of(spec: RunSpec, number: int) -> list[WorkloadLoad]:
    """The loads of a tile, counted from 1."""
    return [part for part in spec.parts if part.id.tile == number]


def test_the_classic_tile_has_the_published_loads_and_sizes() -> None:
    counts = {part.kind: part.load.sessions for part in order(1).parts}
    assert counts == {"web": 500, "dealers": 200, "lines": 80, "mail": 500, "idle": 1}
    tile = find_tile("classic")
    system = place_tiles(tile, 1, read_machine("platform=vm"))
    sizes = {role: (machine.cpus, machine.memory) for role in Role for machine in [system.get_machine(1, role)]}
    # docs/consolidation.md, Tile: eleven virtual CPUs and 11,776 MB.
    assert (sum(cpus or 0 for cpus, _ in sizes.values()), sum(memory for _, memory in sizes.values())) == (11, 11_776)
    assert tile.phases.steady_s == 7200


def test_a_fractional_tile_bears_its_share_and_only_the_last_may_be_one() -> None:
    full, last = list_tile_loads(2, 0.3)
    assert (full.pct, last.pct) == (100, 30)
    counts = {part.kind: part.load.sessions for part in parts_of(order(2, 0.3), 2)}
    assert counts == {"web": 150, "dealers": 60, "lines": 24, "mail": 150, "idle": 1}
    for wrong in (0.0, 0.05, 0.25, 0.95, 1.5):
        with pytest.raises(UsageError, match="fractional tile"):
            list_tile_loads(1, wrong)


def test_ideal_rates_of_the_workloads_are_the_published_ones() -> None:
    """Dealers at the injection rate, work orders at two thirds of it (docs/consolidation.md, Application server)."""
    dealers, lines, mail = load("dealership"), load("manufacturing"), load("mail")
    assert 200 / compute_mean_pause_s(dealers.pacing) == pytest.approx(20.065, rel=0.01)
    assert 80 / compute_mean_pause_s(lines.pacing) == pytest.approx(13.335, rel=0.01)
    mix = compute_shares(mail)
    assert 500 / (compute_mean_pause_s(mail.pacing) * mix.paused) == pytest.approx(89.88, rel=0.001)
    assert mix.operations["append"] == pytest.approx(0.161, abs=0.0005)
    assert mix.operations["fetch"] == pytest.approx(0.408, abs=0.0005)


def test_the_windows_of_staggered_tiles_are_one() -> None:
    many = order(3)
    begins = {
        many.stagger_s * (number - 1) + phases.ramp_up_s + phases.warm_up_s
        for number in (1, 2, 3)
        for phases in map(many.compute_phases, parts_of(many, number))
    }
    assert len(begins) == 1


def test_tiles_do_not_peak_together_and_each_has_whole_periods() -> None:
    many = order(3)
    shifts = []
    for number in (1, 2, 3):
        dealers = parts_of(many, number)[1]
        curve, phases = dealers.curve, many.compute_phases(dealers)
        assert curve is not None
        period_s = curve.step_s * len(curve.factors)
        assert phases.steady_s / period_s == pytest.approx(6)
        shifts.append(round((curve.shift_s + phases.ramp_up_s + phases.warm_up_s) % period_s, 6))
    assert shifts == [0, 400, 800]


def prepare_rounds(spec: RunSpec, count: int, folder: Path) -> list[Sequence[DriverJob]]:
    """The jobs of all rounds, against so many tiles that only have addresses."""
    target = Target.parse(["http://h:1"])
    up = tuple(
        TileUp(number, dict.fromkeys(Role, (target,)), {"web": target}, frozenset({f"tile{number}-web"}))
        for number in range(1, count + 1)
    )
    result = ResultFolder.create(folder, declare_manifest(spec))
    rounds = [load.prepare(Testbed((), "fake", tiles=up), result) for load in Deployment(spec).plan_rounds()]
    result.release()
    return [prepared.jobs for prepared in rounds]


def test_every_plan_names_its_own_parts_and_has_its_own_seed(tmp_path: Path) -> None:
    many = order(2)
    (jobs,) = prepare_rounds(many, 2, tmp_path)
    assert [job.plan["name"] for job in jobs[1::4]] == ["tile1-dealers-tile1-lines", "tile2-dealers-tile2-lines"]
    assert [job.role for job in jobs[:2]] == ["tile1-web-driver", "tile1-app-driver"]
    assert len({job.plan["seed"] for job in jobs[:4]}) == 1
    assert jobs[0].plan["seed"] != jobs[4].plan["seed"]
    assert [job.after_s for job in (jobs[0], jobs[4])] == [0, many.stagger_s]


def test_all_drivers_of_a_tile_run_on_one_host_and_record_its_machines_alone(tmp_path: Path) -> None:
    addresses = {PUBLIC: IPv4Address("127.0.0.1")}
    hosts = {name: HostSpec(roles=(HostRole.DRIVER,), addresses=addresses) for name in ("a", "b")}
    spec = replace(order(3, has_heartbeats=True), fleet=FleetSpec(hosts=hosts), fault=read_fault("db:kill-primary@1"))
    loaded, idle = prepare_rounds(spec, 3, tmp_path)
    assert [job.hosts for job in loaded] == [("a",)] * 4 + [("b",)] * 4 + [("a",)] * 4
    assert [(job.hosts, job.role) for job in idle] == [
        (("a",), "tile1-poll-driver"),
        (("b",), "tile2-poll-driver"),
        (("a",), "tile3-poll-driver"),
    ]
    for number, job in zip((1, 2, 3), loaded[::4], strict=True):
        assert job.members is not None
        assert {"web", "web-driver"} <= {member.removeprefix(f"tile{number}-") for member in job.members}
        assert all(member.startswith(f"tile{number}-") for member in job.members)
    assert {job.plan["log_operations"] for job in loaded} == {LOGGED}, "a fault needs each operation"
    assert {job.plan["log_operations"] for job in idle} == {0}


def test_downloads_of_a_tile_are_not_slowed_by_a_line() -> None:
    web = order(1).parts[0]
    assert web.workload.connections.page_bytes_per_s is None
    assert web.workload.pacing.mean_s == 10
    assert isinstance(web.load, Population)


def test_processes_have_no_size_of_their_own() -> None:
    here = MachineSpec()
    assert place_tiles(read_tile(TINY), 1, here).get_machine(1, Role.WEB) == here


def test_all_shipped_tiles_are_read() -> None:
    assert {name: find_tile(name).name for name in list_shipped_tiles()} == {"classic": "classic", "laptop": "laptop"}
    with pytest.raises(UsageError, match="Use one of classic, laptop"):
        find_tile("big")


def test_a_bad_tile_is_refused_with_every_problem(tmp_path: Path) -> None:
    file = tmp_path / "tile.toml"
    text = TINY.read_text().replace("[0.5, 1.5]", "[0.5, 1.9]").replace("web_sessions = 12", "web_session = 12")
    file.write_text(text.replace("[run]", "[runs]"))
    with pytest.raises(StudyError) as caught:
        read_tile(file)
    said = str(caught.value)
    for part in ("their mean is 1.2", "web_session", "unknown section", "[run]"):
        assert part in said, said


def test_only_the_classic_tile_at_full_length_is_judged_by_all_rules() -> None:
    tile = find_tile("classic")
    assert order(1).profile.rigor == "full"
    assert build_tile_profile(tile, "x", replace(tile.phases, steady_s=60)).rigor == "reduced"
    assert build_tile_profile(replace(tile, notes={"switch": "old"}), "x", tile.phases).rigor == "full"


def outcomes(held: int, held_sum: int, in_doubt: int = 0) -> list[bool]:
    """Which rules are kept of an audit of three acknowledged orders whose hashes sum to four."""
    audit = Audit("orders", 3, 4, in_doubt, held, held_sum)
    return [check.outcome is Outcome.KEPT for check in ledger.check_ledger(audit)]


def test_an_order_that_is_lost_doubled_or_another_one_shows() -> None:
    assert outcomes(3, 4) == [True] * 4
    assert outcomes(2, 4) == [False, True, True, True]
    assert outcomes(4, 4) == [True, False, True, True]
    assert outcomes(3, 7) == [True, True, False, True]


def test_orders_in_doubt_may_be_there_or_not() -> None:
    assert [outcomes(count, 9, in_doubt=2) for count in (3, 5)] == [[True] * 3] * 2
    assert (outcomes(2, 9, in_doubt=2), outcomes(6, 9, in_doubt=2)) == ([False, True, True], [True, False, True])


def test_rules_of_the_tables_that_do_not_hold_are_named() -> None:
    audit = Audit("orders", 0, 0, 0, 0, 0, ("not so: an order has all its lines (2 times)",))
    (broken,) = [check for check in ledger.check_ledger(audit) if check.outcome is Outcome.BROKEN]
    assert "an order has all its lines" in str(broken)


def test_the_tile_in_the_document_is_one(tmp_path: Path) -> None:
    text = (PROJECT / "docs" / "consolidation.md").read_text(encoding="utf-8")
    (block,) = [part.partition("```")[0] for part in text.split("```toml\n")[1:]]
    file = tmp_path / "tile.toml"
    file.write_text(block)
    tile = read_tile(file)
    assert (tile.name, tile.get_size(Role.MAIL).memory, tile.run.stagger_s) == ("mine", 1024, 2)


def test_a_tile_is_headed_by_the_machines_of_its_roles() -> None:
    system = place_tiles(read_tile(TINY), 1, read_machine("platform=vm"))
    said = describe_machines(system)
    for role in Role:
        assert f"{system.get_machine(1, role).memory} MiB" in said
        assert str(role) in said or "each role" in said


def test_the_heading_names_the_tiles_whose_machines_differ() -> None:
    roles = {"app": {"cpus": "4"}, "2.web": {"pin": "0"}}
    system = place_tiles(read_tile(TINY), 3, read_machine("platform=process"), roles=roles)
    assert describe_machines(system) == (
        "web of tile 1, 3 and infra, db, mail, idle on process; web of tile 2 on process, pin 0; "
        "app on process on 4 cores"
    )


def test_settings_of_all_machines_and_of_single_ones_replace_the_sizes_of_the_tile() -> None:
    roles = {"db": {"disk": "0"}, "2.mail": {"cpus": "3"}}
    system = place_tiles(read_tile(TINY), 2, read_machine("platform=vm,memory=700"), roles=roles)
    assert {system.get_machine(1, role).memory for role in Role} == {700}
    assert [system.get_machine(1, role).disk for role in (Role.DB, Role.MAIL, Role.IDLE)] == [0, 1024, 0]
    assert [system.get_machine(number, Role.MAIL).cpus for number in (1, 2)] == [1, 3]


FILE_MACHINES = """[machines]
web = { memory = 192, pin = "1" }
db.platform = "process"
2.web = { memory = 800, pin = "0" }
2.mail.cache = "writeback"
"""


@pytest.fixture
def tile_with_machines(tmp_path: Path) -> Path:
    """A tile's file with settings of single machines."""
    file = tmp_path / "tile.toml"
    file.write_text(TINY.read_text().partition("[machines]")[0] + FILE_MACHINES)
    return file


def test_a_tiles_file_sets_machines_by_role_and_by_tile(tile_with_machines: Path) -> None:
    tile = find_tile(str(tile_with_machines))
    system = place_tiles(tile, 2, read_machine("platform=vm"), roles={"web": {"memory": "300"}})
    webs = [system.get_machine(number, Role.WEB) for number in (1, 2)]
    assert [(web.memory, web.pin) for web in webs] == [(300, "1"), (300, "0")]
    assert system.get_machine(1, Role.DB).declared == {}
    placement = Placement(read_machine("platform=vm"))
    spec = build_tiles_spec("x", Tiles(tile, list_tile_loads(2, None)), Path(), placement=placement)
    assert PlacedTiles(system.tiles, placement).get_machine(2, Role.WEB).memory == 800
    assert record_placement(spec.system, placement)["machines.db"] == {"platform": "process"}
    assert set(record_placement(spec.system, placement)) == {
        "machine",
        "machines.web",
        "machines.db",
        "machines.2.web",
        "machines.2.mail",
    }
    assert set(record_placement(replace_tile_loads(spec, list_tile_loads(1, None)).system, placement)) == {
        "machine",
        "machines.web",
        "machines.db",
    }


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("webb = { cpus = 2 }", "unknown role"),
        ("0.web = { cpus = 2 }", "`0` is not the number of a tile"),
        ("web = { count = 2 }", "a tile has one machine of each role"),
        ("web = { colour = 2 }", "unknown key"),
    ],
)
def test_machines_that_a_tile_does_not_have_are_problems_of_its_file(tmp_path: Path, table: str, said: str) -> None:
    file = tmp_path / "tile.toml"
    file.write_text(TINY.read_text().partition("[machines]")[0] + f"[machines]\n{table}\n")
    line = file.read_text().count("\n")
    with pytest.raises(StudyError, match=rf"tile\.toml:{line}\b.*{said}"):
        find_tile(str(file))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"roles": {"3.web": {"cpus": 1}}}, "There is no copy 3 of `web`. Its copies are 1 to 2."),
        (
            {"roles": {"database": {"cpus": 1}}},
            "There is no machine `database` in this system. There are: web, infra, app, db, mail, idle.",
        ),
        ({"roles": {"web": {"count": 2}}}, "`web.count` cannot be set: it selects one machine. Use --tiles"),
        ({"machine": read_machine("count=2")}, "`count` cannot be set: a tile has one machine of each role"),
        ({"roles": {"2.db": {"disk": 9}}}, "A process has no `disk`. Use --machine 2.db.platform=vm"),
    ],
)
def test_machines_that_no_tile_has_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        Deployment(replace(order(2), placement=Placement(**changes))).check()
