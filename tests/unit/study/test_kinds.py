"""Repeat, sweep, compare and predict as pure questions."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from loadstone.judge.remedies import get_title
from loadstone.judge.rules import apply_rules
from loadstone.judge.statistics import correct_by_holm, find_heavy_outlier
from loadstone.model.errors import UsageError
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.records.check import Bound, Check, CheckId, Outcome, Weight
from loadstone.model.records.verdict import Verdict
from loadstone.study import service_model
from loadstone.study.kinds.compare.loads.question import Compare
from loadstone.study.kinds.compare.section import CompareSection
from loadstone.study.kinds.predict.answer import PredictAnswer
from loadstone.study.kinds.predict.question import Predict, find_limits
from loadstone.study.kinds.predict.section import PredictSection
from loadstone.study.kinds.repeat.question import Repeat
from loadstone.study.kinds.repeat.section import RepeatSection
from loadstone.study.kinds.search.section import SearchSection
from loadstone.study.kinds.sweep.answer import find_knee
from loadstone.study.kinds.sweep.question import Sweep
from loadstone.study.kinds.sweep.section import SweepSection
from loadstone.study.metrics import METRICS
from loadstone.study.queueing import Centre, open_wait_s, solve_closed
from loadstone.study.registry import list_study_kinds
from loadstone.study.service_model import ModelLimits
from loadstone.study.summary import ComparedSide, RunRequest, RunSummary, compute_shares
from loadstone.study.until import Until
from loadstone.workloads import load as load_workload
from tests.made import ask, carry_out, made
from tests.records import iteration, operation, small_criteria


def responding(of_b: float, noise: float, seed: int) -> Callable[[RunRequest], RunSummary]:
    chance = random.Random(seed)

    def play(request: RunRequest) -> RunSummary:
        mean = 0.1 * (of_b if request.side == "b" else 1) * chance.gauss(1, noise)
        return made(request, response_mean=mean, throughput=100.0)

    return play


def test_comparisons_alternate_at_random_and_every_run_has_a_seed_of_its_own() -> None:
    question = Compare("page", {}, {}, {"server.threads": 2}, ({},), pairs=40)
    requests = question.plan_runs()
    sides = "".join(one.side for one in requests)
    blocks = [sides[at : at + 4] for at in range(0, len(sides), 4)]
    assert set(blocks) == {"abba", "baab"}
    assert len({one.seed for one in requests}) == len(requests)
    assert all(("server.threads" in one.settings) == (one.side is ComparedSide.B) for one in requests)


def test_a_slowdown_is_found_said_and_called_worse() -> None:
    answer, _ = carry_out(Compare("page", {}, {}, {"server.threads": 2}, ({},)), responding(1.05, 0.01, 1))
    assert answer.is_worse
    assert "(worse)" in answer.headline[0]
    assert "mean response time of B is +" in answer.headline[0]


def test_where_nothing_is_found_the_answer_says_what_can_be_excluded() -> None:
    answer, _ = carry_out(Compare("page", {}, {}, {"server.threads": 2}, ({},)), responding(1.0, 0.01, 4))
    assert not answer.is_worse
    assert "No difference in mean response time was found" in answer.headline[0]
    assert "can be excluded; a smaller one cannot" in answer.headline[0]


def test_a_curve_is_corrected_for_its_loads() -> None:
    loads = tuple({"sessions": text} for text in (50, 100, 150))
    answer, runs = carry_out(Compare("page", {}, {}, {"server.threads": 2}, loads, pairs=7), responding(1.1, 0.01, 2))
    assert len(runs) == 42
    corrected = [row.metrics["response_mean"].difference.p_corrected for row in answer.loads]
    plain = [row.metrics["response_mean"].difference.p for row in answer.loads]
    assert all(c >= p for c, p in zip(corrected, plain, strict=True))
    assert max(corrected) == pytest.approx(3 * 2 / 2**7)


def test_too_few_pairs_are_named() -> None:
    answer, _ = carry_out(Compare("page", {}, {}, {"server.threads": 2}, ({},), pairs=3), responding(1.5, 0.001, 2))
    assert "at least 6 pairs are needed" in answer.headline[0]


def test_peaks_are_searched_in_turns_with_seeds_of_their_own() -> None:
    asked = CompareSection(a={}, b={"server.threads": 2}, at="peak", load="sessions", start=100, width_pct=2, pairs=6)
    (question,) = ask(asked, [load_workload("banking")], PROFILES["quick"], load=None).questions
    chance = random.Random(3)

    def play(request: RunRequest) -> RunSummary:
        capacity = (1200 if request.settings.get("server.threads") == 2 else 1000) * chance.gauss(1, 0.003)
        good = 100.0 if request.load <= capacity else 50.0
        return made(request, "pass" if good == 100 else "fail", good=good)

    answer, runs = carry_out(question, play, most=400)
    sides = "".join(one.side for one in answer.searches)
    assert all(sides[at : at + 4] in {"abba", "baab"} for at in range(0, 12, 4))
    assert len({run.request.seed for run in runs}) == len(runs)
    assert answer.difference.is_found
    assert answer.difference.low <= 1.2 <= answer.difference.high + 0.03
    assert "The peak of B is +" in answer.headline[0]


def test_a_curve_has_pairs_enough_to_find_something_at_each_load() -> None:
    asked = CompareSection(b={"server.threads": 2}, at=(50, 100, 150), load="sessions")
    (question,) = ask(asked, [load_workload("banking")], PROFILES["quick"], load=None).questions
    answer, _ = carry_out(question, responding(1.1, 0.01, 2))
    assert answer.pairs == 7
    assert all(row.metrics["response_mean"].difference.is_found for row in answer.loads)


def test_a_thing_set_like_the_other_is_said_to_be() -> None:
    answer, _ = carry_out(Compare("page", {}, {}, {}, ({},)), responding(1.0, 0.01, 4))
    assert answer.headline[0].startswith("A and B have the same settings")


def test_loads_near_the_capacity_predict_nothing() -> None:
    question = Predict("page", {}, "rate", (950, 990), (), None, rounds=1)
    answer, _ = carry_out(question, station)
    assert not answer.is_answered
    assert "Give smaller ones" in answer.headline[0]


def test_two_kinds_of_load_are_not_varied_at_once() -> None:
    asked = SweepSection(over={"sessions": (1, 2), "rate": (1, 2)})
    with pytest.raises(UsageError, match="exclude each other"):
        ask(asked, [load_workload("banking")], PROFILES["quick"], load=None)


def test_a_sweep_goes_forth_and_back_and_marks_knee_and_largest_passing_load() -> None:
    def play(request: RunRequest) -> RunSummary:
        response = 0.01 / (1 - request.load / 100)
        verdict = "pass" if request.load <= 80 else "fail"
        return made(request, verdict, response_mean=response, throughput=request.load)

    points = (10, 30, 50, 70, 80, 90)
    question = Sweep("page", {}, (("rate", points),), rounds=2)
    order = [request.settings["rate"] for request in question.plan_runs()]
    assert order == [*points, *reversed(points)]
    answer, _ = carry_out(question, play)
    (curve,) = answer.curves
    assert curve.knee == 50  # load x (1 - load) is largest at half the capacity
    assert curve.largest_passing == 80
    assert answer.is_answered


def test_a_sweep_says_how_its_runs_came_out_and_fails_where_none_passes() -> None:
    question = Sweep("page", {}, (("rate", (10, 30, 50)),))
    bad = partial(made, verdict="fail", good=50)
    answer, _ = carry_out(question, lambda request: bad(request) if request.load > 20 else made(request))
    told = "3 runs at 3 points: 1 pass, 2 fail. Did not pass: rate=30 (good operations); rate=50 (good operations)."
    assert (answer.headline[0], answer.is_negative) == (told, False)
    assert carry_out(question, bad)[0].is_negative
    assert carry_out(question, made)[0].headline[0] == "3 runs at 3 points: 3 pass."


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        (("pass", "pass"), Verdict.PASS),
        (("pass", "fail"), Verdict.FAIL),
        (("fail", "invalid"), Verdict.INVALID),
        (("invalid", "invalid"), Verdict.INVALID),
        (("pass", "invalid", "pass", "pass", "invalid", "pass"), Verdict.PASS),
        (("pass", "invalid", "pass", "fail", "invalid", "pass"), Verdict.FAIL),
        (("pass", "invalid", "pass", "pass", "invalid", "invalid"), Verdict.INVALID),
    ],
)
def test_a_series_comes_to_the_worst_of_its_valid_runs_where_they_are_enough(
    verdicts: tuple[str, ...], outcome: Verdict
) -> None:
    question = Repeat("page", {}, len(verdicts))
    answer, runs = carry_out(question, lambda request: made(request, verdicts[request.seed]))
    assert list_study_kinds()["repeat"].conclude(answer, runs) is outcome


def late(request: RunRequest, is_valid: bool) -> RunSummary:
    """A run that is invalid by the driver's lag, or passes."""
    lag = Check(CheckId.DRIVER_LAG, "lag", 9.0, 1.0, Bound.AT_MOST, "ms", Weight.INVALID, Outcome.BROKEN, "a test")
    return made(request) if is_valid else replace(made(request, "invalid"), checks=(lag,))


@pytest.mark.parametrize(
    ("valid", "sentence"),
    [
        (6, "Enough valid runs for a baseline (at least 4)."),
        (4, "Enough valid runs for a baseline (at least 4)."),
        (3, f"page: 3 of 6 runs were invalid ({get_title(CheckId.DRIVER_LAG)}), a baseline takes 4 valid runs."),
        (3, "Repeat with `--runs 12` on a quieter host"),
        (1, "Repeat with `--runs 24` on a quieter host"),
    ],
)
def test_the_last_line_of_a_series_says_whether_a_baseline_can_be_saved(valid: int, sentence: str) -> None:
    _, runs = carry_out(Repeat("page", {}, 6), lambda request: late(request, request.seed < valid))
    assert sentence in list_study_kinds()["repeat"].conclusion(runs)


def test_a_short_series_without_an_invalid_run_asks_for_more_runs_alone() -> None:
    _, runs = carry_out(Repeat("page", {}, 2), made)
    sentence = "Not enough valid runs for a baseline. page: only 2 runs, a baseline takes 4. Repeat with `--runs 5`."
    assert list_study_kinds()["repeat"].conclusion(runs) == sentence


@pytest.mark.parametrize(
    ("slower", "verdict", "outcome"),
    [(1.0, "pass", Verdict.PASS), (1.5, "pass", Verdict.FAIL), (1.0, "invalid", Verdict.INVALID)],
)
def test_a_comparison_comes_to_a_fail_where_b_is_worse(slower: float, verdict: str, outcome: Verdict) -> None:
    question = Compare("page", {}, {}, {"server.threads": 2}, ({},))
    play = responding(slower, 0.001, 2)
    answer, runs = carry_out(question, lambda request: replace(play(request), verdict=Verdict(verdict)))
    kind = list_study_kinds()["compare"]
    assert kind.conclude(answer, runs) is outcome
    assert kind.conclude(answer, []) is (Verdict.INVALID if verdict == "invalid" else outcome)


def test_operations_that_are_overdue_are_not_good_in_studies_either() -> None:
    page = replace(operation("page", 80, 0.1), overdue=20)
    figures = iteration((page,))
    shares = compute_shares(figures)
    verdicts = {check.id: check.figure for check in apply_rules(small_criteria(), figures)}
    assert (shares["good"], shares["tolerable"]) == (80.0, 80.0)
    assert shares["good"] == verdicts[CheckId.GOOD_SHARE]


def test_no_knee_is_marked_at_the_end_of_a_curve() -> None:
    assert find_knee([(1, 1.0), (2, 1.0), (3, 1.0)]) is None
    assert find_knee([(1, 1.0), (2, 3.0), (3, 9.0)]) is None


def test_throughput_over_cores_has_its_efficiency() -> None:
    question = Sweep("page", {"sessions": 64}, (("server.cores", (1, 2, 4)),))
    rates = {1: 100.0, 2: 190.0, 4: 340.0}
    answer, _ = carry_out(question, lambda request: made(request, throughput=rates[request.settings["server.cores"]]))
    (scaling,) = answer.scaling
    assert [round(one.efficiency, 2) for one in scaling.points] == [1.0, 0.95, 0.85]


def test_repeats_name_outliers_and_keep_them() -> None:
    values = iter([10, 10.1, 9.9, 10.05, 14, 9.95])
    answer, _ = carry_out(Repeat("page", {}, 6), lambda request: made(request, throughput=next(values)))
    throughput = answer.metrics["throughput"]
    assert throughput.count == 6
    assert throughput.mean == pytest.approx(64 / 6)
    assert [one.value for one in throughput.outliers] == [14]


def test_series_of_all_figures_together_raise_one_false_alarm_in_twenty() -> None:
    """Fourteen figures, of which each by itself would be named in one of twenty clean series: 51 % of studies."""
    assert alarms(1, 50) <= 10  # two kinds of alarm, each 5 %: 5 to be expected


@pytest.mark.parametrize("runs", [5, 8, 12])
def test_heavy_tails_alone_are_no_outliers(runs: int) -> None:
    """Twenty figures of Student's t with four degrees, one in twenty of whose studies may have one named."""
    drawn, named = np.random.default_rng(3), 0
    for _ in range(60):
        values = {name: drawn.standard_t(4, runs) for name in METRICS}
        found = {name: find_heavy_outlier(own.tolist()) for name, own in values.items()}
        chances = correct_by_holm([one[1] for one in found.values() if one is not None])
        named += min(chances) <= 0.05
    assert named <= 8


def alarms(seed: int, studies: int) -> int:
    """In how many studies of clean series an outlier or a drift is named in any figure."""
    count, chance = 0, random.Random(seed)
    for _ in range(studies):
        answer, _ = carry_out(
            Repeat("page", {}, 8), lambda request: made(request, **{name: chance.gauss(10, 1) for name in METRICS})
        )
        named = [one for one in answer.metrics.values() if one.outliers or (one.drift_p or 1) <= 0.05]
        count += bool(named)
    return count


def test_invalid_runs_are_in_no_figure() -> None:
    verdicts = iter(["pass", "invalid", "pass", "pass"])
    answer, _ = carry_out(Repeat("page", {}, 4), lambda request: made(request, next(verdicts), throughput=1.0))
    assert answer.metrics["throughput"].count == 3
    assert any("1 invalid runs left out" in line for line in answer.headline)


def station(request: RunRequest) -> RunSummary:
    """Four workers of 4 ms with exponential service, 1 ms of network, a second of thinking: exact figures."""
    centre = Centre(4, 0.004)
    if "rate" in request.settings:
        throughput, response = request.load, 0.005 + open_wait_s(centre, request.load)
    else:
        throughput, response = solve_closed(centre, round(request.load), 1.001)
        response += 0.001
    run = made(
        request,
        throughput=throughput,
        response_mean=response,
        response_p95=3 * response,
        response_p99=5 * response,
        busy_workers=throughput * 0.004,
    )
    return replace(run, capacity={"workers": 4.0})


@pytest.mark.parametrize(
    ("load_of", "limits"),
    [("rate", ModelLimits(0.05, 0.1)), ("sessions", None)],  # without limits, since the peak of sessions takes seconds
)
def test_loads_up_to_half_of_the_capacity_predict_four_fifths_of_it(
    load_of: str, limits: ModelLimits | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_model, "RESAMPLES", 10)  # intervals are not the subject, and take seconds
    question = Predict("page", {}, load_of, (200, 350, 500), (800,), limits, rounds=1)
    answer, _ = carry_out(question, station)
    assert answer.model.centre.demand_s == pytest.approx(0.004)
    assert answer.model.capacity == pytest.approx(1000)
    (checked,) = answer.checks
    assert abs(checked.throughput.off_pct) <= 1
    assert abs(checked.response_mean.off_pct) <= 2


@pytest.mark.parametrize(("workers", "capacity"), [(None, 500), (1, 250)])
def test_a_server_that_cannot_use_its_cores_is_predicted_by_what_the_user_says(
    workers: int | None, capacity: int
) -> None:
    def of_one_thread_on_two_cores(request: RunRequest) -> RunSummary:
        rate, demand_s = request.load, 0.004
        response_s = demand_s + open_wait_s(Centre(1, demand_s), rate)
        run = made(request, throughput=rate, response_mean=response_s, server_cpu=rate * demand_s)
        percentiles = {"response_p95": 3 * response_s, "response_p99": 4.6 * response_s}
        return replace(run, metrics={**run.metrics, **percentiles}, capacity={"server_cores": 2.0})

    question = Predict("page", {}, "rate", (50, 80, 110, 140), (), None, workers=workers)
    answer, _ = carry_out(question, of_one_thread_on_two_cores)
    assert answer.model.capacity == pytest.approx(capacity)


def scattered(seed: int) -> Callable[[RunRequest], RunSummary]:
    chance = random.Random(seed)

    def play(request: RunRequest) -> RunSummary:
        run, moved = station(request), chance.lognormvariate(0, 0.02)
        slower = {name: value * moved for name, value in run.metrics.items() if name.startswith("response")}
        return replace(run, metrics={**run.metrics, **slower})

    return play


@pytest.mark.parametrize("figure", ["response_mean", "peak"])
def test_a_prediction_goes_on_until_it_is_as_sure_as_asked(figure: str) -> None:
    asked = partial(Predict, "page", {}, "rate", (200, 350, 500), (800,), ModelLimits(0.05, 0.1))
    at_once, first = carry_out(asked(), scattered(1))
    pct = 0.7 * half_pct(at_once, figure)
    answer, runs = carry_out(asked(until=Until(figure, pct)), scattered(1))
    assert answer.is_answered
    assert half_pct(answer, figure) <= pct < half_pct(at_once, figure)
    assert len(first) < len(runs)
    assert (len(runs) - len(first)) % 3 == 0
    assert len({run.request.key for run in runs}) == len(runs)
    assert answer.headline[-1].endswith("asked for.")


def half_pct(answer: PredictAnswer, figure: str) -> float:
    if figure == "peak":
        return answer.peak.half_pct
    return next(point for point in answer.curve if point.load == 800).response_mean.half_pct


def test_a_prediction_that_stays_unsure_says_how_many_rounds_it_would_take() -> None:
    until = Until("response_mean", 3.1)
    question = Predict("page", {}, "rate", (200, 350), (), None, until=until, most_rounds=5)
    answer, runs = carry_out(question, scattered(1))
    assert not answer.is_answered
    assert len(runs) == 10
    assert int(answer.headline[-1].split("would take about ")[1].split()[0]) > 5


def test_a_system_whose_use_is_not_known_is_not_predicted() -> None:
    question = Predict("page", {}, "sessions", (1, 2), (), None, rounds=1)
    answer, _ = carry_out(question, lambda request: made(request, throughput=1.0, response_mean=0.1))
    assert answer.headline[0].startswith("Nothing can be predicted")


def test_what_is_sure_to_be_wanted_is_known_beforehand() -> None:
    asked = SweepSection(over={"sessions": (5, 10)}, rounds=2)
    question = ask(asked, [load_workload("banking"), load_workload("support")], PROFILES["quick"], load=None)
    assert len(question.plan_runs()) == 8
    search = ask(SearchSection(start=7), [load_workload("banking")], PROFILES["quick"], load=None)
    assert [one.settings for one in search.plan_runs()] == [{"sessions": 7}]


def test_a_question_without_a_load_is_refused() -> None:
    with pytest.raises(UsageError, match="Set the load"):
        ask(RepeatSection(), [load_workload("banking")], PROFILES["quick"], load=None)
    with pytest.raises(UsageError, match="at least two"):
        ask(PredictSection(at=(20,)), [load_workload("banking")], PROFILES["quick"], load=None)
    with pytest.raises(UsageError, match="Did you mean `response_mean`"):
        asked = CompareSection(figure="response_men")
        ask(asked, [load_workload("banking")], PROFILES["quick"], load=Population(1))
    with pytest.raises(UsageError, match=r"Did you mean `server\.cores`"):
        ask(
            SweepSection(over={"server.core": (1, 2)}),
            [load_workload("banking")],
            PROFILES["quick"],
            load=Population(1),
        )


def test_limits_can_be_predicted_where_all_operations_share_them() -> None:
    assert find_limits(load_workload("banking")) == ModelLimits(2.0, 4.0)
    assert find_limits(load_workload("support")) is None  # downloads are judged by their rate
