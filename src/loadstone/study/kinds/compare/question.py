"""`compare`: the question that a section asks, at loads, at peaks, or of two platforms. Pure."""

from dataclasses import replace

from loadstone.model.errors import UsageError
from loadstone.model.reading import suggest
from loadstone.study.kind import StudyContext
from loadstone.study.kinds.compare.answer import AnyAnswer
from loadstone.study.kinds.compare.loads import question as loads_question
from loadstone.study.kinds.compare.loads.question import Compare, compute_pairs
from loadstone.study.kinds.compare.peaks.question import ComparePeaks
from loadstone.study.kinds.compare.platforms.question import Platforms
from loadstone.study.kinds.compare.section import CompareSection
from loadstone.study.metrics import METRICS
from loadstone.study.parameters import RunSettings
from loadstone.study.question import Question
from loadstone.study.search.question import Search
from loadstone.study.search.section import SearchOptions, make_search
from loadstone.study.settings import parse_loads, parse_settings


def make(section: CompareSection, context: StudyContext) -> Question[AnyAnswer]:
    """The question about one workload; raises UsageError."""
    workload = context.workload.name
    a, b = parse_settings(section.a), parse_settings(section.b)
    if section.figure not in METRICS:
        raise UsageError(f"There is no figure `{section.figure}`. {suggest(section.figure, set(METRICS))}")
    wanted = SearchOptions(load=section.load, start=section.start, width_pct=section.width_pct)

    def search(settings: RunSettings, name: str, seed: int) -> Search:
        return replace(make_search(wanted, workload, context.profile), settings=settings, prefix=name, seed=seed)

    if section.duet and (section.platform is not None or section.at == "peak"):
        raise UsageError("Two runs at the same time are compared at a load, not at peaks. Leave out --duet.")
    if section.platform is not None:
        cpus = section.cpus or 1
        sides: list[RunSettings] = [
            {"platform": platform, "machine.cpus": cpus, **settings}
            for platform, settings in zip(section.platform, (a, b), strict=True)
        ]
        if sides[0] == sides[1]:
            raise UsageError("Both sides are the same. Name two platforms, or use different --a and --b.")
        return Platforms(workload, sides[0], sides[1], search, section.pairs or 1)
    if section.at == "peak":
        return ComparePeaks(workload, a, b, search, section.pairs or 1)
    curve: tuple[RunSettings, ...] = tuple({section.load: load} for load in parse_loads(section.load, section.at or ()))
    pairs = section.pairs or compute_pairs(len(curve) or 1)
    return Compare(workload, {}, a, b, curve or ({},), pairs, section.figure, section.duet)


def describe_promise(question: Question[AnyAnswer]) -> str:
    """Describes the difference that a comparison at loads can detect. A search finds its width itself."""
    return loads_question.describe_promise(question) if isinstance(question, Compare) else ""
