"""What statistics claim of many repetitions: that intervals hold the truth, and that false alarms are rare.

`make test` asks each of these of a few fixed seeds; here a trial is a batch of other ones.
"""

from pathlib import Path
from statistics import fmean

from tests.made import carry_out, noisy_edge
from tests.rates.contract import Rate
from tests.unit.judge import test_chance, test_placement, test_statistics, test_think_times
from tests.unit.study import test_answers, test_baselines, test_kinds, test_queued_studies, test_search, test_until

BATCH = 20


def seeds(trial: int, count: int = BATCH) -> range:
    """Seeds of a trial, which no other trial and no test of `make test` has."""
    return range(10_000 + 1000 * trial, 10_000 + 1000 * trial + count)


def placement_power(trial: int, folder: Path) -> None:
    """A difference as large as is said to be found in four of five runs was found in 114 of 180, so in 63 %, not 80 %.
    Of forty runs fewer than 16 find it in one of 1,000 batches where that stays so.
    """
    usual = test_placement.usual_size(seeds(trial, 50))
    assert test_placement.finding_share(usual, seeds(trial, 40)) >= 0.4


def pauses_accused(trial: int, folder: Path) -> None:
    """Of 3,680 runs of which one in a thousand may be accused, 14 or more are in one of 30,000 batches."""
    cells = [(drawn, *cell) for drawn in test_think_times.DRAWS for cell in test_think_times.CELLS]
    accused = {cell: test_think_times.accused(*cell, seeds(trial, 20 if cell[1] > 10_000 else 300)) for cell in cells}
    assert sum(accused.values()) <= 13, accused


def shares_accused(trial: int, folder: Path) -> None:
    """Of 900 runs of which one in a thousand may be accused by any rule, eight or more are in one of 200,000."""
    accused = {name: test_chance.accused(name, count, 300, 10_000 + trial) for name, count in test_chance.RUNS}
    assert sum(accused.values()) <= 7, accused


def pilots(trial: int, folder: Path) -> None:
    """Nine in ten are to find it; of a hundred fewer than 82 do in one of 200 batches where that is so."""
    assert test_statistics.studies_that_find(0.05, seeds(trial, 100)) >= 82


def baselines(trial: int, folder: Path) -> None:
    """Of a hundred intervals of 95 % fewer than 88 hold the truth in one of 700 batches."""
    assert test_baselines.intervals_that_hold(10_000 + trial, 100) >= 88


def limits_of_no_errors(trial: int, folder: Path) -> None:
    """Peaks of repetitions lie in the intervals of searches whose limit is no error at all."""
    assert fmean(test_answers.repetitions_inside(seeds(trial, 16))) >= 0.8


def noisy_searches(trial: int, folder: Path) -> None:
    """Searches among noisy runs prove what they report, and their intervals hold each other's peaks."""
    for seed in seeds(trial):
        test_search.holds_what_it_says(*carry_out(test_search.SEARCH, noisy_edge(1000, 0.02, seed)))
    assert fmean(test_search.repetitions_inside(seeds(trial))) >= 0.9


def noisy_edges(trial: int, folder: Path) -> None:
    """Half of all runs pass at the edge: twelve searches."""
    answers = [carry_out(test_search.SEARCH, noisy_edge(1000, 0.02, seed))[0] for seed in seeds(trial, 12)]
    edges = [answer.edge for answer in answers if answer.edge is not None]
    assert len(edges) == 12
    assert abs(fmean(edge.load for edge in edges) / 1000 - 1) <= 0.01
    assert sum(edge.low <= 1000 <= edge.high for edge in edges) >= 9


def queue_searches(trial: int, folder: Path) -> None:
    """Ten searches of an open and of a closed queue: near the capacity of theory, and in each other's intervals."""
    for kind in ("rate", "sessions"):
        inside = test_queued_studies.repetitions_inside(kind, seeds(trial, 10))
        assert fmean(inside) >= 0.9, kind


def queue_comparisons(trial: int, folder: Path) -> None:
    """Of twenty comparisons more than four find a difference where there is none, and fewer than 14 one of five per
    cent that nine in ten are to find, in one of 200 batches.
    """
    assert test_queued_studies.differences_found(1.0, seeds(trial)) <= 4
    assert test_queued_studies.differences_found(1.05, seeds(trial)) >= 14


def queue_predictions(trial: int, folder: Path) -> None:
    """Loads up to half of the capacity predict four fifths of it, within what chance does to single short runs."""
    for kind in ("rate", "sessions"):
        test_queued_studies.predicts_four_fifths(kind, 10_000 + trial, within_pct=10)


def series_alarms(trial: int, folder: Path) -> None:
    """Of two hundred studies of clean series 20 are expected to name something; more than 38 do in one of 20,000."""
    assert test_kinds.alarms(10_000 + trial, 200) <= 38


def until_sure(trial: int, folder: Path) -> None:
    """Of four hundred intervals that ended a study nine in ten hold; fewer than 340 do in one of 1,500 batches."""
    assert test_until.intervals_that_hold(seeds(trial, 400)) >= 340


RATES = (
    Rate("until-sure", "Intervals that ended a study contain the true value", 5, until_sure),
    Rate("series-alarms", "Series of all figures together raise few false alarms", 5, series_alarms),
    Rate("placement-power", "A difference as large as stated is found in most runs", 5, placement_power),
    Rate("pauses-accused", "Pauses as declared are hardly ever accused", 5, pauses_accused),
    Rate("shares-accused", "Shares as declared are hardly ever accused", 5, shares_accused),
    Rate("pilots", "As many pairs as a pilot recommends find the difference", 10, pilots),
    Rate("baselines", "Intervals of the ratio of two series contain it", 10, baselines),
    Rate("limits-of-no-errors", "Intervals of searches without errors contain repetitions", 5, limits_of_no_errors),
    Rate(
        "noisy-searches",
        "Searches among noisy runs prove their peaks, and their intervals contain repetitions",
        5,
        noisy_searches,
    ),
    Rate("noisy-edges", "Half of all runs pass at the edge", 5, noisy_edges),
    Rate(
        "queue-searches",
        "Searches of queues find the capacity of theory, and their intervals contain repetitions",
        5,
        queue_searches,
    ),
    Rate("queue-comparisons", "Comparisons of queues find a slowdown if there is one", 10, queue_comparisons),
    Rate("queue-predictions", "Predictions of queues agree with theory", 10, queue_predictions),
)
