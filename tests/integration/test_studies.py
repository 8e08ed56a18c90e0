"""Studies from end to end: in virtual time against queueing theory, and for real through an interruption."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy.optimize import brentq

from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.records.manifest import Status
from loadstone.model.system import Clock, Station
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.store.read import catalogue
from loadstone.store.study import read_answer
from loadstone.study.base import WorkloadRuns
from loadstone.study.kind import StudySection
from loadstone.study.kinds.compare import CompareSection
from loadstone.study.kinds.compare.loads import CompareAnswer, FoundDifference
from loadstone.study.kinds.predict import PredictSection
from loadstone.study.kinds.predict.answer import PredictAnswer
from loadstone.study.kinds.search import SearchSection
from loadstone.study.kinds.search.answer import SearchAnswer
from loadstone.study.question import Answer
from loadstone.study.queueing import Centre, closed_quantile_s, open_quantile_s
from loadstone.study.registry import study_kinds
from loadstone.study.runner import run_study
from loadstone.study.spec import StudySpec, questions
from loadstone.workloads import load as load_workload
from tests.integration.conftest import LoadstoneRunner, command
from tests.integration.test_station import one_page

pytestmark = pytest.mark.integration

Json = dict[str, Any]
DATA = Path(__file__).parent.parent / "data"
STATION = Station(workers=4, service=0.004)
CENTRE = Centre(4, 0.004)
LIMITS = "good_s = 0.015\ntolerable_s = 0.024"


def study(folder: Path, section: StudySection, seed: int, steady_s: float, pacing: str, mix: str = "") -> Answer:
    """Conducts a study in virtual time against the station; returns its answer about the one workload."""
    workload = load_workload(str(one_page(folder / "page", pacing, mix, LIMITS)))
    profile = replace(PROFILES["standard"].changed(ramp_up_s=5, warm_up_s=10, steady_s=steady_s, ramp_down_s=1))
    parts = (WorkloadLoad(workload, Population(1)),)
    base = RunSpec("page", parts, profile, seed, 1, STATION, folder / "results", clock=Clock.VIRTUAL)
    kind = next(one for one in study_kinds().values() if isinstance(section, one.section))
    asked = questions(kind, section, [workload], profile, Population(1))
    spec = StudySpec("study", kind, asked, WorkloadRuns(base), section.model_dump(mode="json"), fresh=True)

    def ignore(anything: object) -> None:
        return None

    path = asyncio.run(run_study(spec, ignore, ignore, ignore))
    (answer,) = read_answer(path, kind.adapter).parts
    shutil.rmtree(path)
    return answer


def searched(*words: Any) -> SearchAnswer:
    """A study that was a search."""
    answer = study(*words)
    assert isinstance(answer, SearchAnswer)
    return answer


def compared(*words: Any) -> CompareAnswer:
    """A study that was a comparison at loads."""
    answer = study(*words)
    assert isinstance(answer, CompareAnswer)
    return answer


OPEN = ('kind = "think"\nmean_s = 0', "operations_per_session = 1")
THINKING = ('kind = "think"\nmean_s = 0.1', "")


def open_capacity() -> float:
    """Arrivals per second at which a percentile reaches its limit."""
    good = brentq(lambda rate: open_quantile_s(CENTRE, rate, 0.95) - 0.015, 10, 999)
    tolerable = brentq(lambda rate: open_quantile_s(CENTRE, rate, 0.99) - 0.024, 10, 999)
    return float(min(good, tolerable))


def closed_capacity() -> float:
    """The largest population whose percentiles keep their limits."""
    holds = [
        sessions
        for sessions in range(1, 200)
        if closed_quantile_s(CENTRE, sessions, 0.1, 0.95) <= 0.015
        and closed_quantile_s(CENTRE, sessions, 0.1, 0.99) <= 0.024
    ]
    return float(max(holds))


@pytest.mark.parametrize(
    ("kind", "capacity", "pacing"), [("rate", open_capacity(), OPEN), ("sessions", closed_capacity(), THINKING)]
)
def test_ten_searches_find_the_capacity_of_theory_and_each_other(
    tmp_path: Path, kind: Any, capacity: float, pacing: tuple[str, str]
) -> None:
    asked = SearchSection(load=kind, start=100 if kind == "rate" else 20, width_pct=1)
    answers = [searched(tmp_path, asked, 1000 * seed, 150, *pacing) for seed in range(10)]
    peaks = [answer.peak for answer in answers]
    assert all(abs(peak / capacity - 1) <= 0.03 for peak in peaks), (capacity, peaks)
    others = [
        low <= peak <= high
        for number, (low, high) in enumerate(answer.interval for answer in answers if answer.interval)
        for peak in peaks[:number] + peaks[number + 1 :]
    ]
    assert sum(others) >= 0.9 * len(others), (peaks, [answer.interval for answer in answers])


def _difference(answer: CompareAnswer) -> FoundDifference:
    found = answer.loads[0].metrics["response_mean"].difference
    assert found is not None
    return found


@pytest.mark.parametrize(("slower", "found_at_least", "found_at_most"), [(1.0, 0, 2), (1.05, 18, 20)])
def test_twenty_comparisons_find_a_slowdown_where_there_is_one(
    tmp_path: Path, slower: float, found_at_least: int, found_at_most: int
) -> None:
    asked = CompareSection(a={"rate": 400}, b={"rate": 400, "station.service": 0.004 * slower})
    answers = [compared(tmp_path, asked, 1000 * seed, 40, *OPEN) for seed in range(20)]
    found = [_difference(answer).is_found for answer in answers]
    assert found_at_least <= sum(found) <= found_at_most
    assert all(answer.is_worse == was for answer, was in zip(answers, found, strict=True) if slower > 1)


@pytest.mark.parametrize(
    ("kind", "at", "check", "pacing"),
    [("rate", (200, 350, 500), 800, OPEN), ("sessions", (20, 35, 52), 84, THINKING)],
)
def test_loads_up_to_half_of_the_capacity_predict_four_fifths_of_it(
    tmp_path: Path, kind: Any, at: tuple[int, ...], check: int, pacing: tuple[str, str]
) -> None:
    asked = PredictSection(load=kind, at=at, check=(check,), rounds=2)
    answer = study(tmp_path, asked, 7, 300, *pacing)
    assert isinstance(answer, PredictAnswer)
    assert answer.model is not None
    assert answer.peak is not None
    assert answer.model.capacity == pytest.approx(1000, rel=0.01)
    for checked in answer.checks:
        assert checked.throughput is not None
        assert checked.response_mean is not None
        assert abs(checked.throughput.off_pct) <= 5
        assert abs(checked.response_mean.off_pct) <= 5
    capacity = open_capacity() if kind == "rate" else closed_capacity()
    assert answer.peak.load == pytest.approx(capacity, rel=0.05)


def test_an_interrupted_sweep_goes_on_with_the_missing_runs_only(tmp_path: Path, loadstone: LoadstoneRunner) -> None:
    words = ("sweep", "static", "--over", "sessions=1,2,3", "--profile", "brief", "--steady", "2")
    words = (*words, "--station", "workers=2,service=0.01", "--results", "results")
    process = subprocess.Popen(command(*words), cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        first = wait_for_runs(tmp_path, 1)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    (folder,) = (tmp_path / "results").iterdir()
    sealed = (first[0] / "seal.json").stat().st_mtime_ns
    listed = loadstone("results", "--json")
    assert json.loads(listed.stdout)[0]["status"] == "interrupted"
    # What the killed program had started ends by itself, since its standard input did.
    done = loadstone(*words)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "results").iterdir()] == [folder.name]
    kept = {path: manifest for path, manifest in catalogue(folder / "runs") if manifest.status is Status.COMPLETE}
    assert len(kept) == 3
    assert first[0] in kept
    assert (first[0] / "seal.json").stat().st_mtime_ns == sealed
    made = read_answer(folder, study_kinds()["sweep"].adapter).runs
    assert [run.request.settings["sessions"] for run in made] == ["1", "2", "3"]
    assert made[0].folder == first[0].name
    # Another question is another study.
    again = loadstone(*words, "--virtual")
    assert again.returncode == 0, again.stderr
    assert len(list((tmp_path / "results").iterdir())) == 2


def wait_for_runs(folder: Path, count: int) -> list[Path]:
    """Waits until so many runs are complete and the next is under way."""
    for _ in range(300):
        for study_folder in (folder / "results").glob("*"):
            runs = list(catalogue(study_folder / "runs"))
            complete = [path for path, manifest in runs if manifest.status is Status.COMPLETE]
            if len(complete) >= count and len(runs) > count:
                return complete
        time.sleep(0.1)
    raise AssertionError("no run was made in half a minute")


def test_the_published_tables_are_a_result_like_any_other(tmp_path: Path, loadstone: LoadstoneRunner) -> None:
    sessions = "banking=2300,shopping=3200,support=2200"
    done = loadstone("import", str(DATA / "published_iterations.csv"), "--sessions", sessions)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("PASS") == 3
    assert "1940.4" in done.stdout
    assert "not a SPEC result" in " ".join(done.stdout.split())
    (folder,) = (tmp_path / "results").iterdir()
    loadstone("report", "latest", "--format", "json")
    content = json.loads((folder / "report.json").read_text())
    banking = content["workloads"][0]["iterations"]
    assert len(banking) == 3
    rows = {row["name"]: row for row in banking[0]["operations"]}
    assert rows["login"]["requests"] == 130685
    assert rows["Total"]["requests"] == 609767
    assert rows["Total"]["weighted_rate"] == pytest.approx(50738.9, rel=0.005)
    assert rows["Total"]["mean_s"] == pytest.approx(0.600, abs=0.001)
    outcomes = {check["rule"]: check["outcome"] for check in banking[0]["verdict"]["checks"]}
    assert outcomes["driver lag p99"] == "not judged"
    assert outcomes["good operations"] == "kept"
    missing = loadstone("import", str(DATA / "published_iterations.csv"), "--sessions", "banking=1")
    assert missing.returncode == 2
    assert "shopping=N" in missing.stderr


def test_a_search_for_real_ends_with_a_verified_peak(tmp_path: Path, loadstone: LoadstoneRunner) -> None:
    # Beyond its capacity the station refuses; limits this long leave the driver on a busy machine room.
    workload = one_page(tmp_path / "page", *OPEN, "good_s = 1\ntolerable_s = 2")
    station = "workers=2,service=0.01,spread=fixed,queue=40"
    words = ("--load", "rate", "--start", "60", "--width", "15", "--verify", "2", "--profile", "brief", "--steady", "3")
    done = loadstone("search", str(workload), "--station", station, *words)
    assert done.returncode == 0, done.stderr
    assert "verified by 2 passing runs" in done.stdout
    (folder,) = (tmp_path / "results").iterdir()
    answer = read_answer(folder, study_kinds()["search"].adapter)
    assert 130 <= answer.parts[0].peak <= 215  # two workers of 10 ms end at 200 a second
    assert (folder / "report.html").is_file()
    for run in answer.runs:
        assert (folder / "runs" / run.folder / "report.html").is_file()


def test_two_programs_do_not_work_on_one_study(tmp_path: Path, loadstone: LoadstoneRunner) -> None:
    words = ("repeat", "static", "--sessions", "1", "--runs", "3", "--profile", "brief", "--steady", "2")
    words = (*words, "--station", "workers=1")
    process = subprocess.Popen(command(*words), cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        wait_for_runs(tmp_path, 1)
        second = loadstone(*words)
        assert second.returncode == 2
        assert "another `loadstone`" in second.stderr
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two runs at the same time need two cores")
def test_a_duet_makes_both_runs_at_the_same_time_on_cores_of_their_own(
    tmp_path: Path, loadstone: LoadstoneRunner
) -> None:
    folder = one_page(tmp_path / "page", 'kind = "think"\nmean_s = 0.1', limits="good_s = 5\ntolerable_s = 10")
    words = ["compare", str(folder), "--sessions", "20", "--profile", "brief", "--pairs", "2", "--duet"]
    words += ["--foreign-cpu", "100", "--b", "server.threads=2", "--results", str(tmp_path / "results")]
    done = loadstone(*words)
    assert "2 pairs cannot tell a difference from chance" in done.stdout, done.stderr
    (path,) = (tmp_path / "results").iterdir()
    answer = read_answer(path, study_kinds()["compare"].adapter)
    for first, second in zip(answer.runs[::2], answer.runs[1::2], strict=True):
        (one,), (other,) = first.windows_unix_s, second.windows_unix_s
        assert min(one[1], other[1]) - max(one[0], other[0]) > 3
        assert {first.request.side, second.request.side} == {"a", "b"}
    half = len(os.sched_getaffinity(0)) // 2
    manifests = [json.loads((path / "runs" / run.folder / "manifest.json").read_text()) for run in answer.runs]
    assert {manifest["host"]["cores_usable"] for manifest in manifests} == {half}
    for first, second in zip(manifests[::2], manifests[1::2], strict=True):
        assert first["was_alone"] == second["was_alone"]  # the other run of the pair is nobody else's


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two runs at the same time need two cores")
def test_a_signal_ends_both_runs_of_a_duet(tmp_path: Path) -> None:
    folder = one_page(tmp_path / "page", 'kind = "think"\nmean_s = 0.1', limits="good_s = 5\ntolerable_s = 10")
    words = ["compare", str(folder), "--sessions", "20", "--steady", "60", "--duet"]
    process = subprocess.Popen(command(*words, "--results", str(tmp_path / "results")), stderr=subprocess.PIPE)
    try:
        for _ in range(300):
            records = list((tmp_path / "results").glob("*/runs/*/runs/*/monitor.jsonl"))
            if sum(record.stat().st_size > 0 for record in records) == 2:
                break
            time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    (study_folder,) = (tmp_path / "results").iterdir()
    states = [manifest.status for _, manifest in catalogue(study_folder / "runs")]
    assert states == [Status.INTERRUPTED, Status.INTERRUPTED]


def test_a_kept_series_fails_what_is_slower_and_passes_what_is_not(tmp_path: Path, loadstone: LoadstoneRunner) -> None:
    def series(service_s: float, seed: int) -> None:
        station = ("--station", f"workers=2,service={service_s}", "--seed", str(seed))
        done = loadstone(
            "repeat", "static", "--rate", "100", "--runs", "5", "--virtual", "--profile", "quick", *station
        )
        assert done.returncode in (0, 3), done.stdout + done.stderr

    series(0.004, 1)
    kept = loadstone("baseline", "save", "main")
    assert kept.returncode == 0 and "static, 5 runs" in " ".join(kept.stdout.split()), kept.stdout + kept.stderr
    assert "main" in loadstone("baseline", "list").stdout
    series(0.004, 100)
    same = loadstone("baseline", "check", "main", "--fail-if", "mean > +10%", "--fail-if", "throughput < -10%")
    assert same.returncode == 0 and "PASS" in same.stdout, same.stdout + same.stderr
    series(0.006, 200)
    slower = loadstone("baseline", "check", "main", "--fail-if", "mean > +10%", "--json")
    answer = json.loads(slower.stdout)
    assert slower.returncode == 1 and answer["verdict"] == "fail", slower.stdout
    assert answer["changes"][0]["low"] > 1.1
    single = loadstone("run", "static", "--rate", "100", "--virtual", "--station", "workers=2,service=0.004")
    refused = loadstone("baseline", "save", "one")
    assert single.returncode == 0 and refused.returncode == 2
    assert "single run" in " ".join(refused.stderr.split())
