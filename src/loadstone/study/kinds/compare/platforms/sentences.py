"""A comparison of platforms in sentences. Pure."""

from collections.abc import Mapping, Sequence

from loadstone.study.kinds.compare.platforms.answer import (
    APART_PCT,
    PartedAt,
    PlatformPoint,
    compute_cost_per_operation,
)
from loadstone.study.kinds.compare.sides import SideSearch, describe_never_passing
from loadstone.study.search.answer import LimitedBy
from loadstone.study.summary import ComparedSide


def summarize_platforms(
    names: Mapping[str, str],
    searches: Sequence[SideSearch],
    peaks: Mapping[ComparedSide, float],
    curve: Sequence[PlatformPoint],
    parted: PartedAt | None,
    accelerators: Mapping[ComparedSide, str],
) -> list[str]:
    """The share of the peak, or why there is none, then what else is found."""
    lines = [f"{names[search.side]}: {line}" for search in searches for line in search.answer.headline[:1]]
    if len(peaks) < 2:
        return [*describe_never_passing(searches, {ComparedSide.A: names["a"], ComparedSide.B: names["b"]}), *lines]
    share = 100 * peaks[ComparedSide.B] / peaks[ComparedSide.A]
    emulated = " (emulated by TCG: not valid for KVM)" if "tcg" in accelerators.values() else ""
    bound = {search.side: search.answer.limit is LimitedBy.DRIVER for search in searches}
    a_bound, b_bound = bound[ComparedSide.A], bound[ComparedSide.B]
    about = "" if a_bound == b_bound else "at most " if a_bound else "at least "
    unsure = " (the driver was the limit of both)" if a_bound and b_bound else ""
    lines.insert(
        0,
        f"{names[ComparedSide.B]} holds {about}{share:.0f} % of the peak of {names[ComparedSide.A]}{emulated}{unsure}.",
    )
    lines += [
        sentence
        for side in (ComparedSide.A, ComparedSide.B)
        if (sentence := _failed_at_peak(curve, side, peaks[side], names[side]))
    ]
    cost = compute_cost_per_operation(curve)
    if cost is not None:
        lines.append(
            f"An operation takes {cost:.2f} times the CPU time on {names[ComparedSide.B]}, at loads that both sustain."
        )
    if parted is not None:
        lines.append(_parted_in_words(parted))
    return lines


def _failed_at_peak(curve: Sequence[PlatformPoint], side: ComparedSide, peak: float, name: str) -> str:
    """What runs at a side's peak say against it, which its proofs outweigh; below it, a search goes on."""
    verdicts = [(point.a if side is ComparedSide.A else point.b).verdicts for point in curve if point.load == peak]
    failed, passed = (sum(verdict.get(outcome, 0) for verdict in verdicts) for outcome in ("fail", "pass"))
    count = failed + passed
    sentence = f"{name}: {failed} of {count} runs at its peak failed: it is where some runs pass and others fail."
    return sentence if failed else ""


def _parted_in_words(parted: PartedAt) -> str:
    if parted.at is None:
        return f"Response times do not diverge up to a load of {parted.after:g}."
    if parted.after is None:
        return f"Response times (p90) are more than {APART_PCT:g} % apart from the smallest load on, {parted.at:g}."
    return f"Response times (p90) diverge between loads of {parted.after:g} and {parted.at:g}."
