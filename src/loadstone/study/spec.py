"""From what a user declares to the questions of a study, one for each workload. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from loadstone.model.asked import (
    Asked,
    CompareSection,
    PredictSection,
    RepeatSection,
    SearchSection,
    SweepSection,
)
from loadstone.model.errors import UsageError
from loadstone.model.load import MOST_PER_S, MOST_SESSIONS, Arrivals, Load
from loadstone.model.profile import Profile
from loadstone.model.reading import suggest
from loadstone.model.workload import RateLimit, TimeLimit, Workload
from loadstone.study.kinds.compare import Compare, ComparePeaks, pairs_for
from loadstone.study.kinds.platforms import Platforms
from loadstone.study.kinds.predict import PREDICTED_PCT, Limits, Predict
from loadstone.study.kinds.repeat import Repeat
from loadstone.study.kinds.search import Search
from loadstone.study.kinds.sweep import Sweep
from loadstone.study.parameters import parameter
from loadstone.study.question import InTurn, Question
from loadstone.study.summary import FIGURES

START = {"sessions": 100.0, "rate": 50.0}
"""First load of a search, unless told otherwise."""
WIDTH = {"quick": 0.05, "demo": 0.05}
"""Width of a search's bracket by profile; 1 % for all others."""


def questions(asked: Asked, workloads: Sequence[Workload], profile: Profile, load: Load | None) -> InTurn:
    """A question for each workload; `load` is the study's own, where it has one. Raises UsageError."""
    if load is None and not brings_load(asked):
        raise UsageError("Say how much load: --sessions or --rate, or vary it.")
    return InTurn(tuple((one.name, _question(asked, one, profile, load)) for one in workloads))


def _question(asked: Asked, workload: Workload, profile: Profile, load: Load | None) -> Question:
    match asked:
        case RepeatSection():
            return Repeat(workload.name, {}, asked.runs)
        case SearchSection():
            return _search(asked, workload.name, profile)
        case SweepSection():
            over = {parameter(name).name: _texts(points) for name, points in asked.over.items()}
            if sum(parameter(name).is_load for name in over) > 1:
                raise UsageError("Sessions and rate exclude each other: vary one of them.")
            arrive = "rate" in over or ("sessions" not in over and isinstance(load, Arrivals))
            return Sweep(workload.name, {}, tuple(over.items()), asked.rounds, arrive)
        case CompareSection():
            return _compare(asked, workload.name, profile)
        case PredictSection():
            measured, check = _texts(asked.at), _texts(asked.check)
            if len(measured) < 2:
                raise UsageError("One load tells nothing about others. Give at least two to measure: --at 20,40,60.")
            return Predict(workload.name, {}, asked.load, measured, check, limits_of(workload), asked.rounds)


def _search(asked: SearchSection, workload: str, profile: Profile) -> Search:
    ceiling = MOST_SESSIONS if asked.load == "sessions" else MOST_PER_S
    return Search(
        workload=workload,
        settings={},
        load=asked.load,
        start=asked.start or START[asked.load],
        width=(asked.width_pct / 100) if asked.width_pct else WIDTH.get(profile.name.split()[0], 0.01),
        verify=asked.verify,
        most=min(asked.most or ceiling, ceiling),
    )


def _compare(asked: CompareSection, workload: str, profile: Profile) -> Question:
    a, b = _settings(asked.a), _settings(asked.b)
    if asked.figure not in FIGURES:
        raise UsageError(f"There is no figure `{asked.figure}`. {suggest(asked.figure, set(FIGURES))}")
    wanted = SearchSection(load=asked.load, start=asked.start, width_pct=asked.width_pct)

    def search(settings: Mapping[str, str], prefix: str, seed: int) -> Search:
        return replace(_search(wanted, workload, profile), settings=settings, prefix=prefix, seed=seed)

    if asked.platform is not None:
        cpus = str(asked.cpus or 1)
        sides = [
            {"platform": platform.value, "machine.cpus": cpus, **own}
            for platform, own in zip(asked.platform, (a, b), strict=True)
        ]
        if sides[0] == sides[1]:
            raise UsageError("Both sides are the same. Name two platforms, or let --a and --b differ.")
        return Platforms(workload, sides[0], sides[1], search, asked.pairs or 1)
    if asked.at == "peak":
        return ComparePeaks(workload, a, b, search, asked.pairs or 1)
    loads: tuple[dict[str, str], ...] = tuple({asked.load: text} for text in _texts(asked.at or ()))
    return Compare(workload, {}, a, b, loads or ({},), asked.pairs or pairs_for(len(loads) or 1), asked.figure)


def limits_of(workload: Workload) -> Limits | None:
    """The limits of response time, where all operations have the same."""
    own = [one.limit for one in workload.operations.values() if one.limit is not None]
    if any(isinstance(limit, RateLimit) for limit in own):
        return None
    times = {(limit.good_s, limit.tolerable_s) for limit in own if isinstance(limit, TimeLimit)}
    held = workload.limits
    if times - {(held.good_s, held.tolerable_s)} or (held.good_share_pct, held.tolerable_share_pct) != PREDICTED_PCT:
        return None
    return Limits(held.good_s, held.tolerable_s)


def _settings(given: Mapping[str, str | int | float]) -> dict[str, str]:
    return {parameter(name).name: _text(value) for name, value in given.items()}


def _texts(points: Sequence[str | int | float]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_text, points)))


def _text(value: str | int | float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).strip()


def brings_load(asked: Asked) -> bool:
    """Whether a question says itself how much load there is."""
    match asked:
        case SearchSection() | PredictSection():
            return True
        case SweepSection():
            return _has_load(asked.over)
        case CompareSection():
            return asked.at is not None or asked.platform is not None or (_has_load(asked.a) and _has_load(asked.b))
        case RepeatSection():
            return False


def _has_load(names: Iterable[str]) -> bool:
    return any(parameter(name).is_load for name in names)
