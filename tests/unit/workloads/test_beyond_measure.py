"""Figures that no machine can play, and files that no reader should follow to their end, are refused."""

from pathlib import Path

import pytest

from loadstone.model.errors import StudyError
from loadstone.workloads import load

TEXT = """
[workload]
name = "x"
title = "x"
[pacing]
kind = "think"
mean_s = {think}
[limits]
good_s = {good}
tolerable_s = 2
[mix]
kind = "flat"
operations_per_session = {operations}
shares = {{ a = {share} }}
[values.v]
{value}
[operations.a]
path = "/"
bytes = {length}
"""
USUAL = {
    "think": "1",
    "good": "1",
    "operations": "3",
    "share": "1",
    "length": "10",
    "value": 'kind = "date"\nfrom = "2020-01-01"\nto = "2020-02-01"',
}
DEEP = "\nx = " + "[" * 5000 + "]" * 5000
CASES = [
    *[("think", text) for text in ("inf", "nan", "1e308", "9" * 5000, "-1")],
    *[("good", text) for text in ("inf", "nan", "1e308", "0")],
    *[("operations", text) for text in ("inf", "9" * 400, "0")],
    *[("share", text) for text in ("inf", "nan", "1e308", "0")],
    *[("length", text) for text in ("9" * 400, "-1")],
    ("value", 'kind = "date"\nfrom = "9999-99-99"\nto = "2020-02-01"'),
    ("value", 'kind = "date"\nfrom = "2020-01-01"\nto = "2019-01-01"'),
    ("value", 'kind = "zipf"\nalpha = 1\nn = ' + "9" * 30),
    ("value", 'kind = "uniform"\nmax = ' + "9" * 400),
    ("value", USUAL["value"] + DEEP),
]


def test_the_usual_one_is_read(tmp_path: Path) -> None:
    (tmp_path / "workload.toml").write_text(TEXT.format(**USUAL))
    assert load(str(tmp_path)).name == "x"


@pytest.mark.parametrize(("key", "text"), CASES, ids=lambda text: text[:20])
def test_what_is_beyond_measure_is_refused(tmp_path: Path, key: str, text: str) -> None:
    (tmp_path / "workload.toml").write_text(TEXT.format(**USUAL | {key: text}))
    with pytest.raises(StudyError) as refused:
        load(str(tmp_path))
    assert "workload.toml:" in str(refused.value.problems[0])


@pytest.mark.parametrize("content", [b"[workload]\0", b'[workload]\nname = "\xe9"\n', b"[a" + b".a" * 5000 + b"]", b""])
def test_files_that_are_no_workload_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "workload.toml").write_bytes(content)
    with pytest.raises(StudyError):
        load(str(tmp_path))
