"""The command line: what it lists and explains."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from loadstone.cli.exits import Exit
from loadstone.cli.main import main
from loadstone.store.folder import ResultFolder
from loadstone.store.study import StudyFolder
from tests.places import DATA
from tests.records import interval, manifest, result_folder, study_manifest


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as end:
        main(list(words))
    assert end.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("words", [["workloads"], ["workloads", "list"]])
def test_workloads_are_listed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, *words)
    assert all(name in text for name in ("banking", "shopping", "support"))


def test_a_workload_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(said(capsys, "workloads", "show", "banking").split())
    for fact in (
        "4.645 operations",
        "28.6 % end",
        "mean 10 s, at most 150 s",
        "100000 B/s",
        "95 % good (within 2 s)",
        "21.53",
    ):
        assert fact in text, fact
    assert "Source" in text
    figures = json.loads(said(capsys, "workloads", "show", "support", "--json"))
    assert figures["operations"]["download"] == pytest.approx(0.0676, abs=0.0001)


@pytest.mark.parametrize(
    "words", [["--help"], ["run", "--help"], ["simulate", "--help"], ["report", "--help"], ["--version"]]
)
def test_help_helps(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "loadstone" in said(capsys, *words)


def test_the_doctor_names_every_matter(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["doctor", "--json"])
    matters = {one["matter"] for one in json.loads(capsys.readouterr().out)}
    assert {"open files", "frequency governor", "swap", "source ports", "cores", "driver"} <= matters


def test_one_unreadable_folder_hides_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = result_folder(tmp_path, [interval(1)])
    StudyFolder.create(tmp_path, study_manifest())
    ResultFolder.create(tmp_path, manifest(name="[/b] x")).release()
    (tmp_path / "zzz").mkdir()
    (tmp_path / "zzz" / "manifest.json").write_text("[]")
    with pytest.raises(SystemExit) as end:
        main(["results", "--results", str(tmp_path)])
    said = capsys.readouterr()
    assert end.value.code == 0
    assert path.name[:15] in said.out
    assert "repeat" in said.out
    assert "zzz" in " ".join(said.err.split())


def test_the_newest_results_are_listed_and_all_of_them_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadstone.cli.results.NEWEST", 2)
    older, middle, newer = (ResultFolder.create(tmp_path, manifest(name=name)).path.name for name in "abc")
    words = ("results", "--json", "--results", str(tmp_path))
    for options, names in (((), [newer, middle]), (("--all",), [newer, middle, older])):
        with pytest.raises(SystemExit):
            main([*words, *options])
        output = capsys.readouterr()
        assert [Path(row["path"]).name for row in json.loads(output.out)] == names
        assert ("--all" in output.err) == (len(names) == 2)


def test_an_error_that_nobody_foresaw_has_an_exit_code_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError("a wheel came off")

    monkeypatch.setattr("loadstone.platforms.journal.reap", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(SystemExit) as end:
        main(["workloads"])
    assert end.value.code == Exit.CRASHED == 70
    assert "a wheel came off" in capsys.readouterr().err
    (details,) = tmp_path.glob("loadstone-crash-*.txt")
    assert "Traceback" in details.read_text()


def test_output_that_nobody_reads_changes_no_exit_code() -> None:
    words = [str(Path(sys.executable).parent / "loadstone"), "workloads", "list"]
    assert subprocess.run(["sh", "-c", '"$@" >&-; exit $?', "sh", *words], timeout=60, check=False).returncode == 0
    piped = subprocess.run(
        ["bash", "-c", '"$@" | true; exit ${PIPESTATUS[0]}', "bash", *words], timeout=60, check=False
    )
    assert piped.returncode == 0


def test_options_can_be_set_in_the_environment_and_the_result_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    station = ["--virtual", "--station", "workers=2,service=0.004", "--profile", "brief", "--no-report"]
    station += ["--results", str(tmp_path)]
    words = [sys.executable, "-m", "loadstone", "run", "static", *station, "--tag", "release=1.4", "--tag", "by=me"]
    environment = {**os.environ, "LOADSTONE_RUN_SESSIONS": "3"}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert "static with 3 sessions" in " ".join(done.stdout.split()), done.stdout + done.stderr
    (manifest,) = tmp_path.glob("*/manifest.json")
    kept = json.loads(manifest.read_text())
    assert kept["command"][0] == "LOADSTONE_RUN_SESSIONS=3"
    assert kept["notes"] == {"release": "1.4", "by": "me"}
    with pytest.raises(SystemExit) as end:
        main([*words[3:], "--sessions", "3", "--tag", "nothing"])
    assert end.value.code == 2 and "--tag release=1.4" in " ".join(capsys.readouterr().err.split())


def test_the_help_of_every_command_comes_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(said(capsys, "--help-all").split())
    for command in ("run", "workloads from-har", "baseline check", "fleet up"):
        assert f"loadstone {command}" in text, command


HEAVY = {"scipy.stats", "scipy.optimize", "pandas", "pyarrow", "ray", "vl_convert", "pyroute2"}


@pytest.mark.parametrize(
    ("called", "unneeded"),
    [
        ("whole", HEAVY),
        ("run", HEAVY | {"uvicorn", "prometheus_client", "opentelemetry", "loadstone.cli.pair"}),
        ("try", HEAVY | {"numpy"}),
        ("workloads", HEAVY | {"numpy"}),
        ("results", HEAVY | {"numpy", "loadstone.judge", "loadstone.model.records.manifest"}),
        ("--version", HEAVY | {"numpy", "pydantic", "psutil", "asyncio", "loadstone.run.spec"}),
        ("--help", HEAVY | {"numpy", "pydantic", "psutil", "asyncio", "loadstone.run.spec"}),
    ],
)
def test_a_command_loads_what_it_needs_alone(called: str, unneeded: set[str]) -> None:
    load = "build_program()" if called == "whole" else f"build_program_for([{called!r}])"
    program = (
        f"import sys; from loadstone.cli.main import *; {load}; sys.exit(', '.join({unneeded} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_latest_is_never_older_than_a_command_that_was_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with tarfile.open(DATA / "schema-1.tar.xz") as archive:
        archive.extractall(tmp_path / "results", filter="data")

    def code(*words: str) -> int:
        with pytest.raises(SystemExit) as ended:
            main(words)
        return int(ended.value.code or 0)

    assert code("export", "latest", "--format", "junit") == 0
    for refused in (("run", "nowhere"), ("run", "--bogus"), ("run", "static", "--sessions", "0"), ("edge", "--bogus")):
        (tmp_path / "results" / ".refused.json").unlink(missing_ok=True)
        assert code(*refused) == 2
        capsys.readouterr()
        assert code("export", "latest", "--format", "junit") == 2, refused
        said = " ".join(capsys.readouterr().err.split())
        assert f"`loadstone {refused[0]}` ended at" in said and "with exit code 2 and left no result" in said
    newest = max(path.name for path in (tmp_path / "results").iterdir())
    assert code("export", newest, "--format", "junit") in (0, 2)
    assert code("run", "nowhere", "--results", str(tmp_path / "none")) == 2
    assert not (tmp_path / "none").exists()


def test_a_user_without_a_name_has_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")  # is put back
    monkeypatch.delenv("HOME")
    with monkeypatch.context() as nameless:
        nameless.setattr(os, "getuid", lambda: 54321)
        with pytest.raises(SystemExit):
            main(["--version"])
        assert os.environ["HOME"] == "/"


def recording(folder: Path) -> str:
    request = {"method": "GET", "url": "http://a.example/"}
    response = {"status": 200, "content": {"mimeType": "text/html", "text": "<title>Shop</title>"}}
    moment = "2026-03-01T09:00:00Z"
    entries = [{"startedDateTime": moment, "time": 5, "request": request, "response": response}]
    (folder / "visit.har").write_text(json.dumps({"log": {"entries": entries}}))
    return str(folder / "visit.har")


def test_an_import_to_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("x")
    for output in (tmp_path / "mine", tmp_path / "mine" / "below"):
        with pytest.raises(SystemExit) as ended:
            main(["workloads", "from-har", recording(tmp_path), "-o", str(output)])
        assert ended.value.code == Exit.WRONG_INPUT
        assert "Cannot create folder" in " ".join(capsys.readouterr().err.split())


def test_the_next_command_can_be_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["workloads", "from-har", recording(tmp_path), "-o", "Mein Besuch"])
    assert ended.value.code == Exit.PASS
    assert "Next: loadstone try 'Mein Besuch' --target http://a.example" in capsys.readouterr().out


def test_scores_of_several_systems_stand_beside_each_other_and_never_in_one_sum(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    heading, first, *_ = (DATA / "consolidation_tiles.csv").read_text().splitlines()
    table, page = tmp_path / "boards.csv", tmp_path / "boards.html"
    table.write_text("\n".join([heading, first, first.replace("x3650M3", "other").replace(",384660,", ",394660,"), ""]))
    document = json.loads(said(capsys, "score", "systems", "--csv", str(table), "--html", str(page), "--json"))
    first_system, other = document["systems"]
    assert (first_system["system"], first_system["score"], first_system["broken_audits"]) == ("x3650M3", 97.71, [])
    assert (other["system"], other["score"], other["ratio"]) == ("other", 97.71, 1.0)
    assert [audit["column"] for audit in other["broken_audits"]] == ["web_rps"]
    assert "<svg" in page.read_text()
    with pytest.raises(SystemExit) as end:
        main(["score", "consolidation", "--csv", str(table)])
    assert end.value.code == Exit.WRONG_INPUT
    problem = " ".join(capsys.readouterr().err.split())
    assert "2 systems: x3650M3, other. Choose one with --system NAME." in problem
