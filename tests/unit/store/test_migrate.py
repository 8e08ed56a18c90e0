"""Results and studies made by the version before are read, reported and judged anew with the same verdict."""

import tarfile
from pathlib import Path

import pytest

from loadstone.judge.result import judge_result
from loadstone.model.records.check import CheckId
from loadstone.model.records.status import Status
from loadstone.model.records.verdict import Verdict
from loadstone.report.build import Format, write_report
from loadstone.report.study import write_study_report
from loadstone.run.judging import judge
from loadstone.store.folder import SealState, seal_of
from loadstone.store.read import list_results, read_result
from loadstone.store.study import list_studies, read_answer, read_study_manifest
from loadstone.study.registry import get_kind
from tests.places import DATA

VERDICTS = {
    "pair": {"banking": Verdict.PASS, "shopping": Verdict.PASS},
    "rate": {"static": Verdict.PASS},
    "published": dict.fromkeys(("banking", "shopping", "support"), Verdict.PASS),
    "tile": {f"tile1-{kind}": Verdict.PASS for kind in ("web", "dealers", "lines", "mail", "idle")},
}
"""What the version before said."""
AGAIN = {name: dict.fromkeys(labels, Verdict.INVALID) for name, labels in VERDICTS.items()} | {
    "published": VERDICTS["published"],
    "tile": VERDICTS["tile"] | {"tile1-web": Verdict.INVALID, "tile1-mail": Verdict.INVALID},
}
"""What this one says: so few operations are no pass."""
REDEFINED = {CheckId.UNSAMPLED, CheckId.DRIVER_LAG}
"""Rules that look at other operations now, or at the latest start where there are too few for a percentile."""
KINDS = {
    "repeat": "repeat",
    "search": "search",
    "sweep": "sweep",
    "compare": "compare",
    "peaks": "compare",
    "platforms": "compare",
    "predict": "predict",
}
HEADLINES = {
    "repeat": "4 runs: 4 pass.",
    "search": "Peak: 902.5 arrivals/s, verified by 3 passing runs. A repetition would find 857.375 to 950.",
    "sweep": "6 runs at 6 points.",
    "compare": "mean response time of B is +29.3 % against A (worse), interval +26.0 to +33.1 %, p = 0.031.",
    "peaks": "The peak of B is -24.3 % against A; the searches' own intervals allow -35.0 to -16.3 %.",
    "platforms": "container holds 103 % of the peak of process.",
    "predict": "An operation takes 3.97 ms of a worker; with 4 of them the capacity is 1009 operations/s.",
}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of the version before, as it wrote them."""
    folder = tmp_path_factory.mktemp("schema-1")
    with tarfile.open(DATA / "schema-1.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder


def test_all_of_them_are_listed(before: Path) -> None:
    unreadable: list[str] = []
    assert {path.name for path, _ in list_results(before, unreadable)} == set(VERDICTS)
    assert {path.name for path, _ in list_studies(before, unreadable)} == set(KINDS)
    assert not unreadable


@pytest.mark.parametrize("name", VERDICTS)
def test_a_result_has_the_verdict_that_it_had(before: Path, name: str) -> None:
    result = read_result(before / name)
    assert result.manifest.status is Status.COMPLETE
    assert seal_of(before / name).state is SealState.INTACT
    assert result.verdict is not None
    assert {one.workload: one.verdict for one in result.verdict.workloads} == VERDICTS[name]
    anew = judge_result(result, "this version")
    assert [(one.workload, one.verdict) for one in anew.workloads] == list(AGAIN[name].items())
    for old, new in zip(result.verdict.workloads, anew.workloads, strict=True):
        for iteration, again in zip(old.iterations, new.iterations, strict=True):
            kept, made = ({check.id: check.figure for check in one.checks} for one in (iteration, again))
            assert {rule: made[rule] for rule in kept if rule not in REDEFINED} == {
                rule: pytest.approx(figure) for rule, figure in kept.items() if rule not in REDEFINED
            }
    assert anew.index == result.verdict.index
    assert (result.verdict.consolidation is not None) == (name == "tile")
    if result.verdict.consolidation is not None:
        assert anew.consolidation is not None
        assert anew.consolidation.score == result.verdict.consolidation.score == 89.13
        assert anew.consolidation.tiles == result.verdict.consolidation.tiles


@pytest.mark.parametrize("form", Format)
@pytest.mark.parametrize("name", VERDICTS)
def test_a_result_is_reported(before: Path, name: str, form: Format, tmp_path: Path) -> None:
    text = write_report(before / name, form, tmp_path / "report").read_text()
    assert all(label in text for label in VERDICTS[name])
    assert "pass" in text.lower()


def test_a_new_judgement_stands_beside_the_old_and_breaks_no_seal(before: Path) -> None:
    path = before / "rate"
    try:
        assert judge(path).whole is Verdict.INVALID
        assert seal_of(path).state is SealState.INTACT
    finally:
        (path / "rejudged.json").unlink()


@pytest.mark.parametrize("name", KINDS)
def test_a_study_is_read_and_reported(before: Path, name: str, tmp_path: Path) -> None:
    manifest = read_study_manifest(before / name)
    assert manifest.kind == KINDS[name]
    answer = read_answer(before / name, get_kind(manifest.kind).adapter)
    assert answer.parts[0].headline[0] == HEADLINES[name]
    for form in Format:
        text = write_study_report(before / name, form, tmp_path / "report").read_text()
        assert form is Format.HTML or HEADLINES[name][:30] in text
