"""The command line: what it lists and explains."""

import json

import pytest

from loadstone.cli.main import main


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
