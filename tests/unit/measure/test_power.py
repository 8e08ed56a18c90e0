"""Power meters: replayed, by energy counters, by a command."""

import asyncio
from pathlib import Path

import pytest

from loadstone.measure.power import PowerMeter, PowerScope, Rapl, Replay, read_source, run_meters
from loadstone.model.errors import PlatformError, UsageError
from tests.waiting import until


def zone(root: Path, name: str, kind: str, energy: int) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    for file, value in (("name", kind), ("energy_uj", energy), ("max_energy_range_uj", 1_000_000)):
        (folder / file).write_text(f"{value}\n")
    return folder


def test_energy_counters_of_packages_are_added_and_their_parts_and_the_platform_are_not(tmp_path: Path) -> None:
    packages = [zone(tmp_path, f"intel-rapl:{n}", f"package-{n}", 100_000) for n in (0, 1)]
    zone(tmp_path, "intel-rapl:0:0", "core", 5)
    zone(tmp_path, "intel-rapl:2", "psys", 5)
    meter = Rapl(tmp_path)
    assert asyncio.run(meter.read_watts(10.0)) is None  # one reading says nothing
    (packages[0] / "energy_uj").write_text("300000")
    (packages[1] / "energy_uj").write_text("200000")
    assert asyncio.run(meter.read_watts(10.5)) == pytest.approx(0.6)


def test_an_energy_counter_that_begins_anew_goes_on(tmp_path: Path) -> None:
    package = zone(tmp_path, "intel-rapl:0", "package-0", 900_000)
    meter = Rapl(tmp_path)
    asyncio.run(meter.read_watts(0.0))
    (package / "energy_uj").write_text("100000")
    assert asyncio.run(meter.read_watts(1.0)) == pytest.approx(0.2)


def test_a_machine_without_counters_says_so(tmp_path: Path) -> None:
    with pytest.raises(PlatformError, match="no RAPL package"):
        asyncio.run(Rapl(tmp_path).read_watts(0.0))


def test_a_replayed_value_holds_until_the_next(tmp_path: Path) -> None:
    file = tmp_path / "power.csv"
    file.write_text("seconds,watts\n0,100\n10,150\n20,80\n")
    replay = Replay.read(file)
    assert [asyncio.run(replay.read_watts(at)) for at in (-1.0, 0.0, 9.9, 10.0, 500.0)] == [None, 100, 100, 150, 80]


@pytest.mark.parametrize("text", ["", "seconds,watts\n", "seconds,watts\n1,x\n", "time,power\n1,2\n"])
def test_a_bad_table_of_power_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "power.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"power\.csv"):
        Replay.read(file)


def test_a_meter_keeps_what_it_sees_and_notes_what_fails(tmp_path: Path) -> None:
    async def play(word: str) -> PowerMeter:
        scope, source = read_source(word)
        with (tmp_path / "power.jsonl").open("w") as file:
            meter = PowerMeter(scope, source, file)
            async with run_meters([meter]):
                await until(lambda: meter.samples or meter.trouble)
        return meter

    good = asyncio.run(play("system=command:echo 42.5 W"))
    assert good.scope is PowerScope.SYSTEM
    assert good.compute_mean((0, 1e12)) == (42.5, len(good.samples))
    assert '"watts": 42.5' in (tmp_path / "power.jsonl").read_text()
    assert "printed no watts" in asyncio.run(play("server=command:echo none")).trouble
    assert "cannot be started" in asyncio.run(play("server=command:/no/such/meter")).trouble


@pytest.mark.parametrize("word", ["rapl", "server=", "host=rapl", "server=csv", "system=watch:it"])
def test_a_strange_meter_is_refused_with_what_there_is(word: str) -> None:
    with pytest.raises(UsageError, match="Use server= or system="):
        read_source(word)
