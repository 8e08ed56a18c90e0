"""A comparison at loads in sentences. Pure."""

from collections.abc import Iterator

from loadstone.model.numbers import format_chance
from loadstone.study.answers import describe_changes
from loadstone.study.difference import LEAST_PAIRS, SOUGHT_PCT, FoundDifference
from loadstone.study.kinds.compare.loads.answer import ComparedLoad
from loadstone.study.metrics import METRICS, Better
from loadstone.study.settings import write_settings


def summarize_load(load: ComparedLoad, name: str, is_curve: bool) -> list[str]:
    """Returns the finding at one load. Warnings precede the figures."""
    settings = write_settings(load.load)
    where = f"At {settings}: " if settings else ""
    lines = [where + line for line in _before_all(load)]
    if name not in load.metrics:
        return [*lines, f"{where}the runs made so far do not all have `{name}`."]
    compared = load.metrics[name].difference
    return [*lines, where + describe_difference(name, compared, load.no_better, is_curve)]


def _before_all(load: ComparedLoad) -> Iterator[str]:
    """What goes before any figure: who holds the quality of service at all, and what was left out."""
    passing = load.passing
    if passing is not None and passing.a != passing.b:
        broken = f" B broke: {', '.join(passing.broken)}." if passing.b < passing.a else ""
        yield f"A passed {passing.a} of {passing.pairs} runs, B {passing.b} ({format_chance(passing.p)}).{broken}"
    elif passing is not None and not passing.a:
        yield f"Neither side passed in any of {passing.pairs} pairs. B broke: {', '.join(passing.broken)}."
    if load.failures is not None:
        yield from load.failures.describe()
    yield from describe_changes(load.changed_answers)
    if load.left_out:
        pairs = f"{load.left_out} pair{'s' * (load.left_out != 1)}"
        reason = ", or of runs that were not at the same time," if load.is_duet else ""
        yield f"{pairs} with an invalid run{reason} left out: nothing follows from those."


def describe_difference(
    name: str, difference: FoundDifference | None, no_better: str = "", is_curve: bool = False
) -> str:
    """Describes a difference without a claim beyond the test. The p-value is the one that decides."""
    metric = METRICS[name]
    if difference is None:
        return f"{metric.title} cannot be compared by its ratio, since a value is 0."
    change = 100 * (difference.ratio - 1)
    if difference.low is None or difference.high is None:
        return (
            f"{metric.title} of B is {change:+.1f} % against A over {difference.pairs} pairs, which is not conclusive: "
            f"at least {LEAST_PAIRS} pairs are needed to distinguish a difference from chance."
        )
    interval = f"{100 * (difference.low - 1):+.1f} to {100 * (difference.high - 1):+.1f} %"
    digits = 3 if difference.is_found or is_curve else 2
    text = format_chance(difference.p, digits)
    if is_curve and difference.p_corrected is not None:
        text = f"{format_chance(difference.p_corrected, digits)} corrected for all loads, {text} separately"
    if difference.is_found:
        worse = {Better.LOWER: change > 0, Better.HIGHER: change < 0}.get(metric.better)
        better = f" (no better: {no_better})" if no_better else " (better)"
        judgement = {True: " (worse)", False: better, None: ""}[worse]
        return f"{metric.title} of B is {change:+.1f} % against A{judgement}, interval {interval}, {text}."
    return (
        f"No difference in {metric.title} was found ({text}; B is {change:+.1f} %, interval {interval}). "
        f"A difference larger than {difference.excluded_pct:.1f} % can be excluded; "
        f"a smaller one cannot.{_power(difference)}"
    )


def _power(difference: FoundDifference) -> str:
    """What such a study could have found."""
    if difference.seen_pct is None:
        return ""
    line = f" {difference.pairs} pairs with this scatter find a difference of {difference.seen_pct:.1f} % "
    line += "nine times in ten"
    enough = difference.enough_pairs
    return f"{line}." if enough in (None, difference.pairs) else f"{line}; one of {SOUGHT_PCT:g} % would take {enough}."
