"""Loads: populations, rates, ramps, steps and traces, and what they bring."""

from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.errors import UsageError
from loadstone.model.load import (
    POISSON,
    Arrivals,
    Population,
    make_load,
    read_process,
    read_rate,
    read_trace,
)
from loadstone.model.profile import Phases
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
from loadstone.study.file import read_study
from loadstone.study.registry import list_file_sections
from loadstone.workloads import load as load_workload
from tests.places import PLAN_SCHEMA, PROJECT

PHASES = Phases(10, 20, 100, 5)


@pytest.mark.parametrize(
    ("text", "rates", "is_ramp"),
    [("100", (100.0,), False), ("50,100.5", (50.0, 100.5), False), ("10-100", (10.0, 100.0), True)],
)
def test_rates_are_steps_or_ramps(text: str, rates: tuple[float, ...], is_ramp: bool) -> None:
    assert read_rate(text) == (rates, is_ramp)


@pytest.mark.parametrize(
    ("text", "load", "words"),
    [
        ("100", Population(100), "100 sessions"),
        ("50,50", Population(50), "50 sessions"),
        ("2,6,2", Population(6, (2, 6, 2)), "2, then 6, then 2 sessions"),
        ("0-60", Population(60, (0, 60), is_ramp=True), "0 to 60 sessions"),
    ],
)
def test_sessions_are_a_number_steps_or_a_ramp(text: str, load: Population, words: str) -> None:
    read = make_load(text, None, None, POISSON)
    assert read == load
    assert str(read) == words


@pytest.mark.parametrize("text", ["", "x", "0", "0,0", "1-2-3", "-5", "1,,2", "1.5", "10000001", "9" * 50, "²"])
def test_what_is_no_number_of_sessions_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a valid number of sessions"):
        make_load(text, None, None, POISSON)


@pytest.mark.parametrize("text", ["", "x", "1-2-3", "-5", "1,,2", "nan", "1e99", "0", "0,0"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"not a valid rate|greater than 0"):
        read_rate(text)


def test_steps_and_ramps_bring_the_arrivals_under_their_curve() -> None:
    assert Arrivals((50.0, 100.0)).count_scheduled(100) == 7500
    assert Arrivals((0.0, 100.0), is_ramp=True).count_scheduled(100) == 5000
    assert Arrivals((), trace_s=(0.0, 1.0, 99.0, 100.0)).count_scheduled(100) == 3


@given(st.lists(st.floats(0.1, 1000), min_size=1, max_size=6), st.booleans())
def test_a_path_covers_the_run_and_is_without_gaps(rates: list[float], is_ramp: bool) -> None:
    path = Arrivals((rates[0], rates[-1]) if is_ramp else tuple(rates), is_ramp)
    stages = path.list_stages(PHASES)
    assert sum(stage.seconds for stage in stages) == pytest.approx(PHASES.total_s)
    assert stages[0].from_per_s == 0
    assert stages[-1].to_per_s == 0
    steady = path.list_steady_stages(PHASES.steady_s)
    assert sum(stage.expected for stage in steady) == pytest.approx(path.count_scheduled(PHASES.steady_s))


def test_a_trace_is_read_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "trace.txt"
    file.write_text("# seconds\n0\n0.5\n\n2.25\n")
    assert read_trace(file) == (0.0, 0.5, 2.25)
    instants = Arrivals((), trace_s=(0.0, 0.5, 2.25)).list_instants(PHASES)
    assert instants[-3:] == [30.0, 30.5, 32.25]  # behind ramp-up and warm-up


@pytest.mark.parametrize(("text", "said"), [("", "no times"), ("1\nx\n", ":2"), ("2\n1\n", "order"), ("-1\n", ":1")])
def test_what_is_no_trace_is_refused_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "trace.txt"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_trace(file)


def test_a_load_is_given_in_one_way() -> None:
    assert make_load(5, None, None, POISSON) == Population(5)
    for sessions, rate in ((None, None), (5, "3")):
        with pytest.raises(UsageError, match="exactly one load"):
            make_load(sessions, rate, None, POISSON)


@pytest.mark.parametrize(
    "load",
    [
        Arrivals((5.0,)),
        Arrivals((1.0, 9.0), True, read_process("constant")),
        Arrivals((), trace_s=(1.0,)),
        Arrivals((5.0,), process=read_process("bursty:25")),
        Arrivals((5.0,), process=read_process("self-similar")),
    ],
)
def test_arrivals_fit_the_drivers_schema(load: Arrivals) -> None:
    plan = make_plan(
        [WorkloadLoad(load_workload("support"), load), WorkloadLoad(load_workload("static"), Population(3))],
        Timing(PHASES),
    )
    jsonschema.validate(plan, PLAN_SCHEMA)
    assert len(plan["parts"]) == 2


def test_data_follows_the_sessions_that_arrivals_bring() -> None:
    plan = make_plan([WorkloadLoad(load_workload("support"), Arrivals((10.0,)))], Timing(PHASES))
    # 14.8 pages with 5 s of think time before most of them: about 70 s a visit, 700 sessions at once.
    assert 600 < plan["parts"][0]["load"]["data_sessions"] < 800


def test_sessions_without_an_end_cannot_arrive(tmp_path: Path) -> None:
    (tmp_path / "workload.toml").write_text(
        '[workload]\nname = "w"\ntitle = "t"\n[pacing]\nkind = "think"\nmean_s = 1\n'
        "[limits]\ngood_s = 1\ntolerable_s = 2\n"
        '[mix]\nkind = "flat"\nshares = { a = 1 }\n[operations.a]\npath = "/"\n'
    )
    with pytest.raises(UsageError, match="never end"):
        make_plan([WorkloadLoad(load_workload(str(tmp_path)), Arrivals((1.0,)))], Timing(PHASES))


def test_the_example_of_open_and_closed_load_is_readable() -> None:
    study = read_study(PROJECT / "examples" / "open-and-closed.toml", list_file_sections())
    assert [str(entry.load()) for entry in study.loads] == ["50 to 250 arrivals/s (poisson)", "20 sessions"]
    assert (study.together, study.driver.lag_share_pct) == (True, 10)


def test_a_load_in_bursts_declares_how_much_it_scatters() -> None:
    assert str(make_load(None, "50", None, read_process("bursty"))) == "50 arrivals/s (bursty, index of dispersion 10)"
    assert str(make_load(None, "5", None, read_process("bursty:25"))) == "5 arrivals/s (bursty, index of dispersion 25)"
    assert str(make_load(None, "5", None, read_process("self-similar"))).endswith("Hurst parameter 0.8)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("burst", "Use one of poisson, constant, bursty, self-similar"),
        ("poisson:3", "take no number"),
        ("bursty:1", "between 1 and 10000"),
        ("bursty:", "between 1 and 10000"),
        ("bursty:nan", "between 1 and 10000"),
        ("self-similar:1", "a Hurst parameter between 0.5 and 1"),
    ],
)
def test_what_is_no_kind_of_arrivals_is_refused_with_what_is(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_process(text)
