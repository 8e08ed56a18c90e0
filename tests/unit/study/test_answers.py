"""Studies conclude from valid runs alone, and never call what refuses its users better."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from loadstone.model.numbers import format_supported
from loadstone.model.records.check import Bound, Check, CheckId, Outcome, Weight
from loadstone.model.records.verdict import Verdict
from loadstone.page.blocks import Table
from loadstone.study.answers import AnswerMeans, list_changed_answers
from loadstone.study.kinds.compare.loads.page import render_blocks as blocks_at_loads
from loadstone.study.kinds.compare.loads.question import Compare
from loadstone.study.kinds.compare.peaks.question import ComparePeaks
from loadstone.study.kinds.compare.platforms.question import CURVES, Platforms
from loadstone.study.kinds.predict.answer import PredictAnswer
from loadstone.study.kinds.predict.question import Predict
from loadstone.study.search.answer import LimitedBy
from loadstone.study.search.edge import CountFit, find_edge
from loadstone.study.search.question import Search, repeat_search
from loadstone.study.search.state import MOST_INVALID
from loadstone.study.service_model import compute_deviations
from loadstone.study.summary import ComparedSide, Purpose, RunRequest, RunSummary
from tests.made import carry_out, made, noisy_edge

COMPARE = Compare("page", {}, {"server.threads": 1}, {"server.threads": 2}, ({},))
Play = Callable[[RunRequest], RunSummary]


def faster(refused_pct: float, verdict: str = "pass") -> Play:
    """B answers twice as fast, and refuses a share of its requests."""
    chance = random.Random(1)

    def play(request: RunRequest) -> RunSummary:
        is_b = request.side is ComparedSide.B
        mean = (0.5 if is_b else 1.0) * (1 + 0.01 * chance.random())
        good, errors = (100 - refused_pct, refused_pct) if is_b else (100.0, 0.0)
        return made(request, verdict if is_b else "pass", good=good, response_mean=mean, errors=errors)

    return play


def test_who_refuses_a_quarter_is_not_better_and_the_verdict_is_the_headline() -> None:
    answer, _ = carry_out(COMPARE, faster(25, "fail"))
    assert answer.is_worse
    assert answer.headline[0].startswith("A passed 6 of 6 runs, B 0 (p = 0.016). B broke: good operations.")
    assert answer.headline[1] == "25 % of B's operations end in an error, 0 % of A's (p = 0.016): B is worse."
    assert "no better: B fails more" in answer.headline[3]


@pytest.mark.parametrize("lucky", [None, 0, 3])
def test_rare_errors_of_one_side_alone_are_worse_though_a_run_has_none(lucky: int | None) -> None:
    """B's errors are far below the scatter of good operations; one run of six may be without any."""
    chance = random.Random(2)

    def play(request: RunRequest) -> RunSummary:
        is_b, pair = request.side is ComparedSide.B, (int(request.key[:3]) - 1) // 2
        errors = 0.03 * (1 + chance.random()) if is_b and pair != lucky else 0.0
        verdict = "fail" if errors else "pass"
        return made(request, verdict, good=98 + chance.random(), response_mean=0.7 if is_b else 1.0, errors=errors)

    answer, _ = carry_out(COMPARE, play)
    assert answer.is_negative
    assert not any("(better)" in line for line in answer.headline)
    assert any("B is worse" in line for line in answer.headline)


def test_a_side_without_errors_is_tested_too_and_its_row_says_so() -> None:
    answer, _ = carry_out(COMPARE, faster(25.6, "fail"))
    (table,) = (block for block in blocks_at_loads(answer) if isinstance(block, Table))
    (row,) = (row for row in table.rows if row.cells[0] == "errors")
    assert row.cells[-1] == "a difference (no ratio: a value is 0)"


def test_another_answer_is_no_faster_answer() -> None:
    def play(request: RunRequest) -> RunSummary:
        is_b = request.side is ComparedSide.B
        run = made(request, response_mean=0.05 if is_b else 1.0)
        return replace(run, answers={"page": AnswerMeans(66.0 if is_b else 8192.0, 200)})

    answer, _ = carry_out(COMPARE, play)
    assert answer.headline[0].startswith("The answers of A and B differ")
    assert "page: 66 bytes of B" in answer.headline[0] and "-99 %" in answer.headline[0]
    assert "-95.0 % against A (no better: B answers with less or something else)" in answer.headline[1]


def test_an_answer_without_a_body_is_no_faster_answer() -> None:
    def play(request: RunRequest) -> RunSummary:
        is_b = request.side is ComparedSide.B
        run = made(request, response_mean=0.05 if is_b else 1.0)
        return replace(run, answers={"page": AnswerMeans(0.0 if is_b else 8192.0, 200)})

    answer, _ = carry_out(COMPARE, play)
    assert "page: 0 bytes of B" in answer.headline[0]
    assert "(no better: B answers with less or something else)" in answer.headline[1]
    assert list_changed_answers([{"page": AnswerMeans(0.0, 200)}], [{"page": AnswerMeans(0.0, 200)}]) == []
    (grown,) = list_changed_answers([{"page": AnswerMeans(0.0, 200)}], [{"page": AnswerMeans(9.0, 200)}])
    assert (grown.describe("A", "B"), grown.is_less) == ("page: 9 bytes of B, 0 of A", False)


OWN, OTHERS = frozenset(range(0, 128, 2)), frozenset(range(1, 129, 2))


def of_words(words: frozenset[int]) -> dict[str, AnswerMeans]:
    """Answers of one size and status whose words have these hashes in common."""
    return {"page": AnswerMeans(8192.0, 200, words)}


def test_another_text_of_the_same_size_is_no_faster_answer() -> None:
    def play(request: RunRequest) -> RunSummary:
        is_b = request.side is ComparedSide.B
        run = made(request, response_mean=0.05 if is_b else 1.0)
        return replace(run, answers=of_words(OTHERS if is_b else OWN))

    answer, _ = carry_out(COMPARE, play)
    assert "another text: 0 % of the words are the same" in answer.headline[0]
    assert "(no better: B answers with less or something else)" in answer.headline[1]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param([OWN, OWN], [OWN, OWN], id="the same"),
        pytest.param([OWN, OWN], [OWN | {1, 3}, OWN - {2}], id="a few words"),
        pytest.param([OWN, OTHERS], [OTHERS, OWN], id="another text in each run"),
        pytest.param([OWN, OWN], [frozenset(), OTHERS], id="not known of each"),
        pytest.param([OWN], [OTHERS], id="a single run of each"),
    ],
)
def test_texts_that_are_not_another_are_not_named(a: list[frozenset[int]], b: list[frozenset[int]]) -> None:
    assert list_changed_answers([of_words(each) for each in a], [of_words(each) for each in b]) == []


def test_words_are_compared_as_far_as_both_records_have_them_all() -> None:
    """A record has the 64 smallest hashes: the longer text of two has fewer of them below the shorter one's last."""
    text, longer = frozenset(range(0, 128, 2)), frozenset(range(64))
    assert AnswerMeans(1, 200, text).compute_likeness(AnswerMeans(1, 200, longer)) == pytest.approx(32 / 64)
    assert AnswerMeans(1, 200, frozenset({1, 9})).compute_likeness(
        AnswerMeans(1, 200, frozenset({1, 99}))
    ) == pytest.approx(1 / 3)
    assert AnswerMeans(1, 200).compute_likeness(AnswerMeans(1, 200, text)) is None


def test_a_search_names_loads_that_are_answered_with_less() -> None:
    """Beyond 120 sessions the server answers everybody with a small page at once, and passes."""
    play = noisy_edge(160, 0.001, 1)

    def shrinking(request: RunRequest) -> RunSummary:
        size = 8192.0 if request.load <= 120 else 66.0
        return replace(play(request), answers={"page": AnswerMeans(size, 200)})

    answer, _ = carry_out(SEARCH, shrinking)
    assert any("page: 66 bytes at 1" in line and "8\u202f192 at 100" in line for line in answer.headline)
    whole, _ = carry_out(SEARCH, lambda request: replace(play(request), answers={"page": AnswerMeans(8192.0, 200)}))
    assert not any("answers differ" in line for line in whole.headline)


def test_sides_that_fail_alike_are_seldom_called_worse() -> None:
    """Operations end in an error with the same chance on both sides; runs pass with fewer than 1 % of them."""
    drawn = np.random.default_rng(11)
    worse = 0
    for _ in range(400):

        def play(request: RunRequest) -> RunSummary:
            errors = 100 * drawn.binomial(2000, 0.01 * drawn.uniform(0.7, 1.3)) / 2000
            return made(request, "pass" if errors < 1 else "fail", good=100 - errors, errors=errors)

        worse += carry_out(COMPARE, play)[0].is_negative
    assert worse <= 24, worse


@pytest.mark.parametrize(("failing", "is_open"), [(4, True), (2, True), (0, False)])
def test_errors_that_so_few_pairs_cannot_tell_from_chance_leave_the_question_open(failing: int, is_open: bool) -> None:
    """B is faster, and some of its runs fail by errors that A never has."""

    def play(request: RunRequest) -> RunSummary:
        is_b, pair = request.side is ComparedSide.B, (int(request.key[:3]) - 1) // 2
        errors = 0.2 if is_b and pair < failing else 0.0
        mean = (0.7 if is_b else 1.0) * (1 + pair / 100)
        return made(request, "fail" if errors else "pass", good=100 - errors, response_mean=mean, errors=errors)

    answer, _ = carry_out(COMPARE, play)
    assert answer.is_answered is not is_open
    assert any("(better)" in line for line in answer.headline) is not is_open
    assert any("no better: B may fail more" in line for line in answer.headline) is is_open


def test_fewer_valid_pairs_than_tell_a_difference_from_chance_are_no_answer() -> None:
    def disturbed(request: RunRequest) -> RunSummary:
        run = faster(0)(request)
        return replace(run, verdict=Verdict.INVALID) if request.key.startswith("003") else run

    answer, _ = carry_out(COMPARE, disturbed)
    assert "which is not conclusive" in answer.headline[-1]
    assert not answer.is_answered
    assert carry_out(replace(COMPARE, pairs=7), disturbed)[0].is_answered


def test_a_load_that_says_nothing_does_not_hide_where_b_is_worse() -> None:
    question = replace(COMPARE, loads=({"rate": 10}, {"rate": 20}), pairs=7)

    def play(request: RunRequest) -> RunSummary:
        run = faster(25, "fail")(request)
        return replace(run, verdict=Verdict.INVALID) if request.load == 20 else run

    answer, _ = carry_out(question, play)
    assert (answer.is_answered, answer.is_negative) == (True, True)


def test_of_a_curve_the_chance_that_decides_comes_first() -> None:
    """Of each load alone 0.03, corrected for both 0.06: nothing is found, and no sentence contradicts another."""
    question = replace(COMPARE, loads=({"rate": 10}, {"rate": 20}))
    chance = random.Random(4)

    def play(request: RunRequest) -> RunSummary:
        is_slower = request.side is ComparedSide.B and request.load == 20
        return made(request, response_mean=(1.1 if is_slower else 1.0) * (1 + 0.02 * chance.random()))

    answer, _ = carry_out(question, play)
    line = next(line for line in answer.headline if line.startswith("At rate=20"))
    assert (
        "No difference in mean response time was found (p = 0.062 corrected for all loads, p = 0.031 separately" in line
    )


def searching(settings: dict[str, str], name: str, seed: int) -> Search:
    return Search("page", settings, "sessions", start=100, width=0.05, prefix=name, seed=seed)


A_SIDE, B_SIDE = {"platform": "process"}, {"platform": "container"}


@pytest.mark.parametrize("pairs", [1, 2])
@pytest.mark.parametrize(
    ("failing", "outcome"),
    [
        ({"container"}, (True, True)),
        ({"process"}, (True, False)),
        ({"process", "container"}, (False, False)),
    ],
)
def test_a_side_that_passes_at_no_load_is_compared_too(
    failing: set[str], outcome: tuple[bool, bool], pairs: int
) -> None:
    def play(request: RunRequest) -> RunSummary:
        fails = request.settings["platform"] in failing or request.load > 155
        return made(request, "fail" if fails else "pass", good=50 if fails else 100)

    questions = (
        ComparePeaks("page", A_SIDE, B_SIDE, searching, pairs),  # type: ignore[arg-type]
        Platforms("page", A_SIDE, B_SIDE, searching, pairs),  # type: ignore[arg-type]
    )
    for question in questions:
        answer, _ = carry_out(question, play)
        assert (answer.is_answered, answer.is_negative) == outcome
        if failing == {"container"}:
            assert answer.headline[0].endswith("is worse.")
            assert "passes at no load" in answer.headline[0]


@pytest.mark.parametrize(("operations", "outcome"), [(12.0, (False, False)), (500.0, (True, True))])
def test_runs_too_short_to_pass_make_no_side_worse(operations: float, outcome: tuple[bool, bool]) -> None:
    """The container fails at every load; with too few operations none of its runs could have passed."""
    enough = Check(CheckId.ENOUGH, "operations for a pass", 0, 100, Bound.AT_LEAST, "", Weight.INVALID, Outcome.KEPT)

    def play(request: RunRequest) -> RunSummary:
        fails = request.settings["platform"] == "container" or request.load > 155
        run = made(request, "fail" if fails else "pass", good=50 if fails else 100)
        checks = (*run.checks, replace(enough, figure=operations))
        return replace(run, checks=checks, windows_unix_s=((100.0, 105.0),))

    questions = (
        ComparePeaks("page", A_SIDE, B_SIDE, searching, 1),  # type: ignore[arg-type]
        Platforms("page", A_SIDE, B_SIDE, searching, 1),  # type: ignore[arg-type]
    )
    for question in questions:
        answer, _ = carry_out(question, play)
        assert (answer.is_answered, answer.is_negative) == outcome
        assert answer.headline[0].startswith("Undecided: ") is (operations < 100)
        # 5 s brought 12 operations: 100 take 42 s, and a fifth more for chance.
        assert ("(`--steady 50`)" in " ".join(answer.headline)) is (operations < 100)


def test_peaks_of_which_one_could_not_be_searched_are_no_answer() -> None:
    def play(request: RunRequest) -> RunSummary:
        is_disturbed = request.settings["platform"] == "container"
        return made(request, "invalid" if is_disturbed else "fail" if request.load > 155 else "pass")

    answer, _ = carry_out(ComparePeaks("page", A_SIDE, B_SIDE, searching), play)  # type: ignore[arg-type]
    assert (answer.is_answered, answer.is_negative) == (False, False)


def test_where_the_driver_limits_a_side_everywhere_its_peak_is_not_compared() -> None:
    def play(request: RunRequest) -> RunSummary:
        is_bound = request.settings["platform"] == "container"
        verdict = "invalid" if is_bound else "fail" if request.load > 155 else "pass"
        return made(request, verdict, driver_bound=is_bound)

    answer, _ = carry_out(ComparePeaks("page", A_SIDE, B_SIDE, searching), play)  # type: ignore[arg-type]
    assert not answer.is_negative
    assert answer.is_unreached or not answer.is_answered


def test_who_is_faster_and_refuses_nobody_is_better() -> None:
    answer, _ = carry_out(COMPARE, faster(0))
    assert not answer.is_worse
    assert "(better)" in answer.headline[0]


def test_where_neither_side_passes_that_is_said_first() -> None:
    answer, _ = carry_out(COMPARE, lambda request: made(request, "fail", good=50, response_mean=1.0))
    assert answer.headline[0].startswith("Neither side passed")


def test_pairs_with_an_invalid_run_are_left_out_and_counted() -> None:
    play = faster(0)

    def disturbed(request: RunRequest) -> RunSummary:
        run = play(request)
        return replace(run, verdict=Verdict.INVALID) if request.key.startswith("003") else run

    answer, _ = carry_out(COMPARE, disturbed)
    (load,) = answer.loads
    assert (load.left_out, load.metrics["response_mean"].a.count) == (1, 5)
    assert any("1 pair with an invalid run left out" in line for line in answer.headline)


def test_where_all_runs_are_invalid_nothing_is_answered() -> None:
    answer, _ = carry_out(COMPARE, lambda request: made(request, "invalid", response_mean=1.0))
    assert not answer.is_answered
    assert not answer.is_worse


PREDICT = Predict("page", {}, "rate", (20, 40), (), None)


def serving(verdict: str, errors: float = 0.0) -> Play:
    def play(request: RunRequest) -> RunSummary:
        used = request.load * 0.01
        metrics = {"throughput": request.load, "response_mean": 0.01 / (1 - used), "busy_workers": used}
        times = {f"response_p{at}": 0.05 / (1 - used) for at in (95, 99)}
        run = made(request, verdict, **metrics, **times, errors=errors)
        return replace(run, capacity={"workers": 1.0})

    return play


@pytest.mark.parametrize(
    ("play", "why"),
    [
        (serving("fail"), "no measured load passes"),
        (serving("invalid"), "no measured load passes"),
        (serving("pass", errors=25.0), "no measured load passes"),
    ],
)
def test_nothing_is_predicted_from_runs_that_did_not_serve(play: Play, why: str) -> None:
    answer, _ = carry_out(PREDICT, play)
    assert (answer.peak, answer.is_answered) == (None, False)
    assert why in answer.headline[0]


def test_what_passes_is_predicted() -> None:
    answer, _ = carry_out(PREDICT, serving("pass"))
    assert answer.peak is not None and 90 < answer.peak.load < 101


def test_a_check_that_contradicts_the_model_refutes_it() -> None:
    asked = replace(PREDICT, check=(80,))

    def collapsing(request: RunRequest) -> RunSummary:
        run = serving("pass")(request)
        slow = {"response_mean": run.metrics["response_mean"] * 3}
        return replace(run, metrics={**run.metrics, **slow}) if request.load > 50 else run

    answer, _ = carry_out(asked, collapsing)
    assert (answer.peak, answer.is_answered) == (None, False)
    assert any("the model does not hold, since the measurement differs at 80" in line for line in answer.headline)
    held, _ = carry_out(asked, serving("pass"))
    assert held.peak is not None and held.is_answered


def checked_at(load: float, **play: Play) -> PredictAnswer:
    """Predicted from loads that pass, checked at one load at which other runs are played."""

    def both(request: RunRequest) -> RunSummary:
        return play["check" if request.purpose is Purpose.VERIFY else "learn"](request)

    return carry_out(replace(PREDICT, check=(load,)), both)[0]


@pytest.mark.parametrize(
    ("load", "check", "why"),
    [
        (80, serving("fail"), "2 of 2 checks failed (good operations) at 80 arrivals/s"),
        (80, serving("pass", errors=2.2), "2.2 % of the operations ended in an error at 80 arrivals/s"),
        (120, serving("pass", errors=2.2), "2.2 % of the operations ended in an error at 120 arrivals/s"),
    ],
)
def test_verdicts_and_errors_of_checks_refute_the_model(load: float, check: Play, why: str) -> None:
    def told(request: RunRequest) -> RunSummary:
        run = check(replace(request, settings={"rate": 80}))
        outcome = Outcome.KEPT if run.passed else Outcome.BROKEN
        return replace(run, request=request, checks=(replace(run.checks[0], outcome=outcome),))

    answer = checked_at(load, learn=serving("pass"), check=told)
    assert (answer.peak, answer.is_answered, answer.is_negative) == (None, False, False)
    assert f"No peak is predicted: the model does not hold, since {why}." in answer.headline


@pytest.mark.parametrize(("valid", "said"), [(0, "2 of 2 checks at 80"), (1, "1 of 2 checks at 80"), (2, "")])
def test_checks_that_are_not_fit_to_be_judged_are_named_and_without_any_nothing_is_checked(
    valid: int, said: str
) -> None:
    def play(request: RunRequest) -> RunSummary:
        checks = request.purpose is Purpose.VERIFY
        turn = request.seed - 100
        return serving("invalid" if checks and turn >= valid else "pass")(request)

    answer, _ = carry_out(replace(PREDICT, check=(80,)), play)
    assert answer.is_answered is (valid > 0)
    assert any(line.startswith(said) for line in answer.headline if "are invalid" in line) is bool(said)


def test_response_times_beyond_the_capacity_refute_nothing() -> None:
    """They grow as long as a run lasts, and say nothing of the model."""

    def flooded(request: RunRequest) -> RunSummary:
        run = serving("fail")(replace(request, settings={"rate": 80}))
        figures = {"throughput": 100.0, "response_mean": 1.2, "response_p95": 2.0, "response_p99": 2.2}
        return replace(run, request=request, metrics={**run.metrics, **figures})

    answer = checked_at(150, learn=serving("pass"), check=flooded)
    assert answer.peak is not None and answer.is_answered
    checked = [line for line in answer.headline if line.startswith("Checked at 150")]
    assert checked and all("beyond the capacity" in line and "mean response" not in line for line in checked)


def test_why_only_one_load_can_be_learned_from_is_said() -> None:
    def play(request: RunRequest) -> RunSummary:
        run = serving("invalid" if request.load < 30 else "pass")(request)
        return run if run.is_valid else replace(run, reasons=("operations for a pass: 52",))

    answer, _ = carry_out(PREDICT, play)
    assert "made at one load only (20: operations for a pass: 52)" in answer.headline[0]


def test_a_failed_check_beyond_the_peak_is_as_predicted() -> None:
    def slow(request: RunRequest) -> RunSummary:
        run = serving("fail")(replace(request, settings={"rate": 99}))
        return replace(run, request=request)

    answer = checked_at(100.5, learn=serving("pass"), check=slow)
    assert not any("checks failed" in line for line in answer.headline)


def test_a_load_that_begins_to_refuse_users_predicts_nothing() -> None:
    def refusing(request: RunRequest) -> RunSummary:
        return serving("pass", errors=0.4 if request.load > 30 else 0.01)(request)

    answer, _ = carry_out(PREDICT, refusing)
    assert answer.peak is None
    assert any("0.4 % of the operations ended in an error at 40 arrivals/s" in line for line in answer.headline)
    steady, _ = carry_out(PREDICT, serving("pass", errors=0.4))
    assert steady.peak is not None, "errors that no load adds to are not the queue's"


def test_few_runs_widen_an_interval() -> None:
    def runs(count: int) -> list[RunSummary]:
        play = serving("pass")
        return [
            play(RunRequest(f"{load}-{at}", "page", {"rate": load}, at)) for load in (20, 40) for at in range(count)
        ]

    # Of two runs at each of two loads: 4 runs, 2 degrees of freedom, half of them: Student's t 12.71.
    assert compute_deviations(runs(2)) == pytest.approx(2**0.5 * 12.706, rel=1e-3)
    assert compute_deviations(runs(50)) == pytest.approx(2.03, abs=0.01)
    assert compute_deviations(runs(1)) == 1.0


SEARCH = Search("page", {}, "sessions", start=100, width=0.02)


def test_an_invalid_run_says_nothing_of_its_load_and_is_made_again() -> None:
    play, invalid = noisy_edge(1000, 0, 1), []

    def disturbed(request: RunRequest) -> RunSummary:
        if request.load > 100 and request.load not in invalid:
            invalid.append(request.load)
            return made(request, "invalid")
        return play(request)

    answer, _ = carry_out(SEARCH, disturbed)
    assert answer.peak is not None and 970 < answer.peak <= 1000


def test_a_machine_that_is_not_fit_ends_the_search_and_says_why() -> None:
    def busy(request: RunRequest) -> RunSummary:
        return replace(made(request, "invalid"), reasons=("CPU used by others: 50 %, at most 5",))

    answer, runs = carry_out(SEARCH, busy)
    assert len(runs) == MOST_INVALID
    assert (answer.is_answered, answer.limit, answer.peak) == (False, LimitedBy.UNFIT, None)
    assert "CPU used by others: 50 %" in answer.headline[0]


def with_least(least: float, play: Play) -> Play:
    """Runs below a load have too few operations to pass, and are invalid."""
    few = Check(CheckId.ENOUGH, "operations for a pass", 5, 100, Bound.AT_LEAST, "", Weight.INVALID, Outcome.BROKEN, "")

    def judged(request: RunRequest) -> RunSummary:
        run = play(request)
        return replace(run, verdict=Verdict.INVALID, checks=(few,)) if request.load < least else run

    return judged


@pytest.mark.parametrize("least", [30, 0.001])
def test_where_no_load_passes_too_small_ones_do_not_hide_it(least: float) -> None:
    question = replace(SEARCH, load="rate")
    answer, runs = carry_out(question, with_least(least, lambda request: made(request, "fail", good=50)))
    assert (answer.is_answered, answer.is_negative, answer.peak) == (True, True, None)
    assert answer.headline[0].startswith("No load passes: ")
    assert ("generate too few operations to be judged" in answer.headline[0]) is (least > 1)
    assert len(runs) < 15


def test_a_search_that_begins_too_low_goes_up() -> None:
    answer, _ = carry_out(replace(SEARCH, start=1), with_least(30, noisy_edge(1000, 0, 1)))
    assert answer.is_answered and answer.peak is not None and 970 < answer.peak <= 1000


def test_a_search_of_loads_that_are_all_too_small_says_so() -> None:
    answer, _ = carry_out(replace(SEARCH, start=1, most=20), with_least(30, noisy_edge(1000, 0, 1)))
    assert (answer.is_answered, answer.peak) == (False, None)
    assert "generate too few operations" in answer.headline[0]


def test_a_failure_below_a_peak_reopens_its_search() -> None:
    """A band of loads breaks that the search jumped over: a point of the curves finds it."""

    def banded(request: RunRequest) -> RunSummary:
        is_broken = 60 <= request.load <= 80 or request.load > 155
        return made(request, "fail" if is_broken else "pass", good=50 if is_broken else 100)

    def search(settings: dict[str, str], name: str, seed: int) -> Search:
        return Search("page", settings, "sessions", start=100, width=0.05, prefix=name, seed=seed)

    question = Platforms("page", {"platform": "process"}, {"platform": "container"}, search)  # type: ignore[arg-type]
    answer, runs = carry_out(question, banded)
    assert answer.is_answered
    for side in (ComparedSide.A, ComparedSide.B):
        peak = answer.peaks[side.value]
        failed = [
            run.request.load
            for run in runs
            if run.verdict is Verdict.FAIL and side in (run.request.side, run.request.search)
        ]
        assert peak is not None and 55 <= peak < min(failed)
        proofs = [run for run in runs if run.request.load == peak and run.request.purpose is Purpose.VERIFY]
        assert answer.at_peak[side.value].metrics["good"] == 100.0
        assert all(run.request.search != CURVES for run in proofs)


def test_a_failure_at_a_peak_is_told_beside_its_proofs() -> None:
    def play(request: RunRequest) -> RunSummary:
        is_told = request.search == CURVES and request.side is ComparedSide.A and request.load >= 150
        return made(request, "fail" if is_told or request.load > 155 else "pass")

    def search(settings: dict[str, str], name: str, seed: int) -> Search:
        return Search("page", settings, "sessions", start=100, width=0.05, prefix=name, seed=seed)

    question = Platforms("page", {"platform": "process"}, {"platform": "container"}, search)  # type: ignore[arg-type]
    answer, _ = carry_out(question, play)
    told = [line for line in answer.headline if "at its peak failed" in line]
    assert told == ["process: 1 of 5 runs at its peak failed: it is where some runs pass and others fail."]


def test_what_a_search_takes_for_granted_is_said() -> None:
    answer, _ = carry_out(SEARCH, noisy_edge(1000, 0, 1))
    assert any(
        line.startswith("Assumed: a system that sustains this load sustains every smaller") for line in answer.headline
    )


def counting(capacity: float, seed: int) -> Play:
    """A limit of no error at all: their number grows with the tenth power of the load, one at the capacity."""
    chance = random.Random(seed)

    def play(request: RunRequest) -> RunSummary:
        mean = (request.load / capacity) ** 10
        count, product = 0, chance.random()
        while product > 2.718281828**-mean:
            count, product = count + 1, product * chance.random()
        outcome = Outcome.BROKEN if count else Outcome.KEPT
        check = Check(
            CheckId.VALIDATION_ERRORS, "errors", count, 0, Bound.AT_MOST, "errors", Weight.FAIL, outcome, "a test"
        )
        return replace(made(request, "fail" if count else "pass"), checks=(check,))

    return play


def repetitions_inside(seeds: Sequence[int]) -> list[bool]:
    """For each interval of a search and each peak of all searches: whether the interval holds the peak."""
    search = Search("page", {}, "rate", start=60, width=0.05)
    answers = [carry_out(search, counting(100, seed))[0] for seed in seeds]
    peaks = [answer.peak for answer in answers if answer.peak is not None]
    spans = [answer.interval for answer in answers if answer.interval is not None]
    return [low <= peak <= high for low, high in spans for peak in peaks]


def test_intervals_of_a_limit_of_no_errors_hold_repetitions() -> None:
    """Ten per cent of load apart, the share of passing runs goes from two thirds to a twelfth: peaks scatter widely."""
    inside = repetitions_inside(range(3))
    assert len(inside) == 9
    assert sum(inside) >= 7


def test_an_edge_of_counts_lies_where_half_of_all_runs_pass() -> None:
    play = counting(100, 3)
    runs = [
        play(RunRequest(str(at), "page", {"rate": load}, at)) for at, load in enumerate([90, 95, 100, 105, 110] * 6)
    ]
    search = Search("page", {}, "rate", start=60, width=0.05)
    edge = find_edge(runs, 100, partial(repeat_search, search, 100))
    assert edge is not None
    assert isinstance(edge.fits[0], CountFit)
    # (load / 100)^10 = ln 2 at 96.4.
    assert edge.estimate.low < 96.4 < edge.estimate.high
    assert edge.estimate.high - edge.estimate.low < 25


@pytest.mark.parametrize(
    ("value", "half", "text"),
    [
        (156.317, 7.8, "156"),
        (156.317, 78.0, "160"),
        (1234.0, 120.0, "1200"),
        (0.0123456, 0.002, "0.012"),
        (5.0, 0.0, "5"),
    ],
)
def test_figures_have_the_digits_that_their_interval_supports(value: float, half: float, text: str) -> None:
    assert format_supported(value, half) == text
