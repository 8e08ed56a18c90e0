"""Studies from end to end: in virtual time against queueing theory, and for real through an interruption."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from loadstone.cli.main import main
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.records.status import Status
from loadstone.model.system import Clock, Station
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.store.read import list_results
from loadstone.store.study import read_answer
from loadstone.study.base import WorkloadRuns
from loadstone.study.kind import StudySection
from loadstone.study.kinds.compare.loads.answer import CompareAnswer
from loadstone.study.kinds.compare.section import CompareSection
from loadstone.study.kinds.predict.answer import PredictAnswer
from loadstone.study.kinds.predict.section import PredictSection
from loadstone.study.kinds.search.section import SearchSection
from loadstone.study.question import Answer
from loadstone.study.registry import list_study_kinds
from loadstone.study.runner import run_study
from loadstone.study.search import edge
from loadstone.study.search.answer import SearchAnswer
from loadstone.study.spec import StudySpec, build_questions
from loadstone.workloads import load as load_workload
from tests.integration.conftest import NO_REPORT, LoadstoneRunner, command, newest, report, run_until
from tests.integration.test_station import one_page
from tests.queues import CENTRE, GOOD_S, SERVICE_S, TOLERABLE_S, WORKERS, open_capacity
from tests.verdicts import WINDOW

pytestmark = pytest.mark.integration

Json = dict[str, Any]
DATA = Path(__file__).parent.parent / "data"
STATION = Station(workers=WORKERS, service=SERVICE_S)
LIMITS = f"good_s = {GOOD_S}\ntolerable_s = {TOLERABLE_S}"
SHORT = ("--profile", "brief", "--warm-up", "0.5", "--steady", "1")
"""Options of runs of two and a half seconds, of which only the order matters."""
ENDLESS = ("--profile", "brief", "--steady", "300")
"""Options of a run that a signal ends."""
DEADLINE_S = 60.0


def study(folder: Path, section: StudySection, seed: int, steady_s: float, pacing: str, mix: str = "") -> Answer:
    """Conducts a study in virtual time against the station; returns its answer about the one workload."""
    workload = load_workload(str(one_page(folder / "page", pacing, mix, LIMITS)))
    profile = replace(PROFILES["standard"].with_phases(ramp_up_s=5, warm_up_s=10, steady_s=steady_s, ramp_down_s=1))
    parts = (WorkloadLoad(workload, Population(1)),)
    base = RunSpec("page", parts, profile, seed, 1, STATION, folder / "results", clock=Clock.VIRTUAL)
    kind = next(one for one in list_study_kinds().values() if isinstance(section, one.section))
    asked = build_questions(kind, section, [workload], profile, Population(1))
    spec = StudySpec("study", kind, asked, WorkloadRuns(base), section.model_dump(mode="json"), fresh=True)

    def ignore(anything: object) -> None:
        return None

    path = asyncio.run(run_study(spec, ignore, ignore, ignore))
    (answer,) = read_answer(path, kind.adapter).parts
    shutil.rmtree(path)
    return answer


OPEN = ('kind = "think"\nmean_s = 0', "operations_per_session = 1")
LENIENT = "good_s = 20\ntolerable_s = 29\ngood_share_pct = 90\ntolerable_share_pct = 90"
"""Limits that leave a busy machine room to be late, and take few operations."""
PAUSING = ('kind = "think"\nmean_s = 0.1', "operations_per_session = 1")


@pytest.mark.slow("a search in virtual time, with an answer after each run")
def test_a_search_in_virtual_time_finds_the_capacity_of_theory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge, "REPETITIONS", 20)  # an answer is made after each run, of two hundred repetitions
    asked = SearchSection(load="rate", start=600, width_pct=2)
    answer = study(tmp_path, asked, 1000, 60, *OPEN)
    assert isinstance(answer, SearchAnswer)
    assert answer.peak == pytest.approx(open_capacity(), rel=0.03)
    assert answer.interval is not None and answer.interval[0] <= answer.peak <= answer.interval[1]


def test_a_comparison_in_virtual_time_finds_a_slowdown(tmp_path: Path) -> None:
    asked = CompareSection(a={"rate": 400}, b={"rate": 400, "station.service": 0.004 * 1.05})
    answer = study(tmp_path, asked, 1000, 40, *OPEN)
    assert isinstance(answer, CompareAnswer)
    difference = answer.loads[0].metrics["response_mean"].difference
    assert difference is not None and difference.is_found and answer.is_worse


@pytest.mark.slow("eight runs in virtual time, with an answer after each")
def test_arrivals_up_to_half_of_the_capacity_predict_four_fifths_of_it(tmp_path: Path) -> None:
    asked = PredictSection(load="rate", at=(200, 350, 500), check=(800,), rounds=2)
    answer = study(tmp_path, asked, 7, 300, *OPEN)
    assert isinstance(answer, PredictAnswer)
    assert answer.model is not None
    assert answer.peak is not None
    assert answer.model.capacity == pytest.approx(CENTRE.capacity, rel=0.01)
    assert len(answer.checks) == 2
    for checked in answer.checks:
        assert checked.throughput is not None
        assert checked.response_mean is not None
        assert abs(checked.throughput.off_pct) <= 5
        assert abs(checked.response_mean.off_pct) <= 5
    assert answer.peak.load == pytest.approx(open_capacity(), rel=0.05)


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


@pytest.fixture
def here(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs commands in this process and the empty folder, where they start at once; without reports."""
    monkeypatch.chdir(tmp_path)
    for name, value in NO_REPORT.items():
        monkeypatch.setenv(name, value)

    def run(*words: str) -> Done:
        with pytest.raises(SystemExit) as end:
            main(list(words))
        out, err = capsys.readouterr()
        return Done(int(end.value.code or 0), out, err)

    return run


@pytest.mark.slow("three real runs, and one that is interrupted")
def test_an_interrupted_sweep_goes_on_with_the_missing_runs_only(tmp_path: Path, here: Command) -> None:
    workload = one_page(tmp_path / "page", *PAUSING, LENIENT)
    words = ("sweep", str(workload), "--over", "sessions=1,2,3", *SHORT)
    words = (*words, "--station", "workers=2,service=0.01", "--results", "results")
    process = subprocess.Popen(command(*words), cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        first = wait_for_runs(tmp_path, 1)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    (folder,) = (tmp_path / "results").iterdir()
    sealed = (first[0] / "seal.json").stat().st_mtime_ns
    listed = here("results", "--json")
    assert json.loads(listed.stdout)[0]["status"] == "interrupted"
    # What the killed program had started ends by itself, since its standard input did.
    done = here(*words)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "results").iterdir()] == [folder.name]
    kept = {path: manifest for path, manifest in list_results(folder / "runs") if manifest.status is Status.COMPLETE}
    assert len(kept) == 3
    assert first[0] in kept
    assert (first[0] / "seal.json").stat().st_mtime_ns == sealed
    made = read_answer(folder, list_study_kinds()["sweep"].adapter).runs
    assert [run.request.settings["sessions"] for run in made] == [1, 2, 3]
    assert made[0].folder == first[0].name
    # Another question is another study.
    again = here(*words, "--virtual")
    assert again.returncode == 0, again.stderr
    assert len(list((tmp_path / "results").iterdir())) == 2


def wait_for_runs(folder: Path, count: int) -> list[Path]:
    """Waits until so many runs are complete and the next is under way."""

    def complete() -> list[Path] | None:
        for study_folder in (folder / "results").glob("*"):
            runs = list(list_results(study_folder / "runs"))
            done = [path for path, manifest in runs if manifest.status is Status.COMPLETE]
            if len(done) >= count and len(runs) > count:
                return done
        return None

    return wait_for(complete)


def wait_for(look: Callable[[], list[Path] | None]) -> list[Path]:
    """What there is once it is there. Raises AssertionError after a minute."""
    until = time.monotonic() + DEADLINE_S
    while (seen := look()) is None:
        assert time.monotonic() < until, "it did not come in a minute"
        time.sleep(0.05)
    return seen


def test_the_published_tables_are_a_result_like_any_other(tmp_path: Path, here: Command) -> None:
    sessions = "banking=2300,shopping=3200,support=2200"
    done = here("import", str(DATA / "published_iterations.csv"), "--sessions", sessions)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("PASS") == 3
    assert "1940.4" in done.stdout
    assert "not a SPEC result" in " ".join(done.stdout.split())
    assert here("report", "latest", "--format", "json").returncode == 0
    (folder,) = (tmp_path / "results").iterdir()
    content = json.loads((folder / "report.json").read_text())
    assert content == report(tmp_path)
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
    missing = here("import", str(DATA / "published_iterations.csv"), "--sessions", "banking=1")
    assert missing.returncode == 2
    assert "shopping=N" in missing.stderr


@pytest.mark.slow("four real runs")
def test_a_search_for_real_ends_with_a_verified_peak(tmp_path: Path, loadstone: LoadstoneRunner) -> None:
    # Two workers of 10 ms end at 200 a second: 255 a second fill the queue, and the rest is refused.
    workload = one_page(tmp_path / "page", *OPEN, LENIENT)
    station = "workers=2,service=0.01,spread=fixed,queue=100"
    words = ("--load", "rate", "--start", "170", "--width", "50", "--verify", "1")
    windows = ("--profile", "brief", "--warm-up", "0.5", "--steady", "2")
    done = loadstone("search", str(workload), "--station", station, *words, *windows, has_report=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verified by 1 " in done.stdout  # on a busy machine the driver or the queue may be the limit far below
    (folder,) = (tmp_path / "results").iterdir()
    answer = read_answer(folder, list_study_kinds()["search"].adapter)
    assert 0 < answer.parts[0].peak < 255
    assert (folder / "report.html").is_file()
    for run in answer.runs:
        assert (folder / "runs" / run.folder / "report.html").is_file()


@pytest.mark.slow("a real run, and the start of two commands")
def test_two_programs_do_not_work_on_one_study_and_a_signal_ends_it(tmp_path: Path, here: Command) -> None:
    words = ("repeat", "static", "--sessions", "1", "--runs", "3", *ENDLESS, "--station", "workers=1")
    process = subprocess.Popen(command(*words), cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        wait_for_runs(tmp_path, 0)
        second = here(*words)
        assert second.returncode == 2
        assert "another `loadstone`" in second.stderr
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=DEADLINE_S) == 130


@pytest.mark.slow("four real runs, two at a time")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two runs at the same time need two cores")
def test_a_duet_makes_both_runs_at_the_same_time_on_cores_of_their_own(
    tmp_path: Path, loadstone: LoadstoneRunner
) -> None:
    folder = one_page(tmp_path / "page", 'kind = "think"\nmean_s = 0.1', limits="good_s = 5\ntolerable_s = 10")
    words = ["compare", str(folder), "--sessions", "20", *WINDOW, "--pairs", "2", "--duet"]
    words += ["--foreign-cpu", "100", "--b", "server.threads=2", "--results", str(tmp_path / "results")]
    adapter = list_study_kinds()["compare"].adapter

    def is_duet(study: Path) -> bool:
        """Whether both runs of each pair measured at some time."""
        runs = [run for run in read_answer(study, adapter).runs if run.windows_unix_s]
        windows = [run.windows_unix_s[0] for run in runs]
        return all(
            max(first[0], second[0]) < min(first[1], second[1])
            for first, second in zip(windows[::2], windows[1::2], strict=False)
        )

    done = run_until(loadstone, tmp_path, is_duet, *words)  # a busy host may start them seconds apart
    assert "2 pairs cannot distinguish a difference from chance" in done.stdout, done.stderr
    path = newest(tmp_path)
    answer = read_answer(path, adapter)
    for first, second in zip(answer.runs[::2], answer.runs[1::2], strict=True):
        assert {first.request.side, second.request.side} == {"a", "b"}
    half = len(os.sched_getaffinity(0)) // 2
    manifests = [json.loads((path / "runs" / run.folder / "manifest.json").read_text()) for run in answer.runs]
    assert {manifest["host"]["cores_usable"] for manifest in manifests} == {half}
    for first, second in zip(manifests[::2], manifests[1::2], strict=True):
        assert first["was_alone"] == second["was_alone"]  # the other run of the pair is nobody else's


@pytest.mark.slow("two real runs until both measure")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two runs at the same time need two cores")
def test_a_signal_ends_both_runs_of_a_duet(tmp_path: Path) -> None:
    folder = one_page(tmp_path / "page", 'kind = "think"\nmean_s = 0.1', limits="good_s = 5\ntolerable_s = 10")
    words = ["compare", str(folder), "--sessions", "20", *ENDLESS, "--duet"]
    process = subprocess.Popen(command(*words, "--results", str(tmp_path / "results")), stderr=subprocess.DEVNULL)

    def both() -> list[Path] | None:
        records = list((tmp_path / "results").glob("*/runs/*/runs/*/monitor.jsonl"))
        return records if sum(record.stat().st_size > 0 for record in records) == 2 else None

    try:
        wait_for(both)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=DEADLINE_S) == 130
    (study_folder,) = (tmp_path / "results").iterdir()
    states = [manifest.status for _, manifest in list_results(study_folder / "runs")]
    assert states == [Status.INTERRUPTED, Status.INTERRUPTED]


@pytest.mark.slow("sixteen runs in virtual time")
def test_a_kept_series_fails_what_is_slower_and_passes_what_is_not(here: Command) -> None:
    def series(service_s: float, seed: int) -> None:
        station = ("--station", f"workers=2,service={service_s}", "--seed", str(seed))
        done = here("repeat", "static", "--rate", "100", "--runs", "5", "--virtual", "--profile", "quick", *station)
        assert done.returncode == 0, done.stdout + done.stderr

    series(0.004, 1)
    kept = here("baseline", "save", "main")
    assert kept.returncode == 0 and "static, 5 runs" in " ".join(kept.stdout.split()), kept.stdout + kept.stderr
    assert "main" in here("baseline", "list").stdout
    series(0.004, 100)
    same = here("baseline", "check", "main", "--fail-if", "mean > +10%", "--fail-if", "throughput < -10%")
    assert same.returncode == 0 and "PASS" in same.stdout, same.stdout + same.stderr
    series(0.006, 200)
    slower = here("baseline", "check", "main", "--fail-if", "mean > +10%", "--json")
    answer = json.loads(slower.stdout)
    assert slower.returncode == 1 and answer["verdict"] == "fail", slower.stdout
    assert answer["changes"][0]["low"] > 1.1
    single = here("run", "static", "--rate", "100", "--virtual", "--station", "workers=2,service=0.004")
    refused = here("baseline", "save", "one")
    assert single.returncode == 0 and refused.returncode == 2
    assert "single run" in " ".join(refused.stderr.split())
