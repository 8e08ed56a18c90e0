"""Broken workload and study files: every problem at once, each with file, line and remedy, and exit code 2."""

from pathlib import Path

import pytest

from loadstone.cli.main import main
from loadstone.model.errors import StudyError
from loadstone.study.file import read_study
from loadstone.study.registry import list_file_sections
from loadstone.workloads import load

GOOD = """\
[workload]
name = "site"
title = "A site"

[pacing]
kind = "think"
mean_s = 1

[limits]
good_s = 1
tolerable_s = 2

[values]
word = { kind = "choice", values = ["a", "b"] }

[mix]
kind = "matrix"
start = "home"
[mix.from]
home = { search = 0.5, end = 0.5 }
search = { end = 1.0 }

[operations.home]
path = "/"

[operations.search]
path = "/search"
query = { q = "{word}" }
"""

WORKLOADS = {
    # change (old, new): (line, what the message names, a word of the remedy)
    "no TOML": (('kind = "think"', 'kind = "think'), 6, "not valid TOML", "Correct"),
    "missing section": (("[limits]\ngood_s = 1\ntolerable_s = 2\n", ""), 1, "section is missing", "Add [limits]"),
    "unknown section": (("[pacing]", "[pacng]\n[pacing]"), 5, "unknown section", "pacing"),
    "missing key": (("mean_s = 1\n", ""), 5, "is missing", "mean_s"),
    "misspelt key": (("mean_s = 1", "mean = 1\nmean_s = 1"), 7, "unknown key", "mean_s"),
    "wrong type": (("good_s = 1", 'good_s = "fast"'), 10, "'fast'", "seconds"),
    "negative pause": (("mean_s = 1", "mean_s = -1"), 7, "-1", "0 or more"),
    "wrong choice": (('kind = "think"', 'kind = "sleep"'), 6, "'sleep'", "cycle"),
    "limits swapped": (("good_s = 1\n", "good_s = 3\n"), 10, "above tolerable_s", "swap"),
    "row above one": (("search = 0.5, end = 0.5", "search = 0.7, end = 0.5"), 20, "sums to 1.2", "Rows may sum"),
    "unknown state": (("search = 0.5, end", "serch = 0.5, end"), 20, "unknown state `serch`", "search"),
    "row missing": (("search = { end = 1.0 }\n", ""), 19, "has no row", "search"),
    "start unknown": (('start = "home"', 'start = "hme"'), 18, "start", "home"),
    "operation unused": (
        ("[operations.search]", "[operations.lost]\npath = '/x'\n[operations.search]"),
        26,
        "never",
        "mix",
    ),
    "unknown value": (('"{word}"', '"{wrd}"'), 26, "{wrd}", "word"),
    "path without slash": (('path = "/search"', 'path = "search"'), 27, "does not begin", "path"),
    "form of a GET": (('path = "/"', 'path = "/"\nform = { a = "1" }'), 25, "no form", "query"),
    "weights": (('["a", "b"]', '["a", "b"], weights = [1]'), 14, "1 weights for 2", "one weight"),
    "range": (('kind = "choice", values = ["a", "b"]', 'kind = "uniform", min = 5, max = 2'), 14, "above max", "Swap"),
    "no range": (('kind = "choice", values = ["a", "b"]', 'kind = "uniform"'), 14, "max_per_session", "exactly one"),
    "embedded file": (
        ('path = "/"', 'path = "/"\nembedded = ["12 at 0.5"]'),
        25,
        "not a valid embedded file",
        "806@0.5",
    ),
    "embedded pattern": (('path = "/"', 'path = "/"\nembedded = ["12@0.5"]'), 25, "needs a pattern", "[embedded]"),
    "cap": (("mean_s = 1", "mean_s = 1\ncap_s = 0.5"), 8, "below the mean", "larger"),
    "status": (('path = "/"', 'path = "/"\nstatus = [20]'), 25, "not a valid status code", "599"),
    "probability": (("search = 0.5", "search = 1.5"), 20, "1.5", "Expected"),
    "redraw": (('"b"] }', '"b"], redraw = ["shop"] }'), 14, "unknown state `shop`", "search"),
    "time-out": (
        ('path = "/"', 'path = "/"\ntimeout_s = 2\nlimit = { good_s = 1, tolerable_s = 3 }'),
        25,
        "not above the tolerable",
        "longer",
    ),
    "rates swapped": (
        ('path = "/"', 'path = "/"\nlimit = { good_bytes_per_s = 1, tolerable_bytes_per_s = 2 }'),
        25,
        "below tolerable",
        "swap",
    ),
    "no end": (("search = { end = 1.0 }", "search = { search = 1.0 }"), 19, "no session ends from search", "end"),
    "drawn over": (
        ('path = "/"', 'path = "/"\nset = { word = "c" }'),
        14,
        "extracted values are lost",
        'redraw = "session"',
    ),
    "unknown value of a request": (
        ('path = "/"', 'path = "/"\nbefore = [{ path = "/{wrd}" }]'),
        25,
        "{wrd}",
        "word",
    ),
    "condition": (('path = "/"', 'path = "/"\nafter = [{ path = "/x", when = ["{wrd}"] }]'), 25, "{wrd}", "word"),
    "upload of a GET": (
        ('path = "/"', 'path = "/"\nuploads = { f = { file_name = "a", bytes = 1 } }'),
        25,
        "sent with a form",
        "POST",
    ),
    "least pause of thinking": (("mean_s = 1", "mean_s = 1\nleast_s = { home = 0.5 }"), 8, "cycle times", "cycle"),
    "least pause": (
        ('kind = "think"\nmean_s = 1', 'kind = "cycle"\nmean_s = 1\nleast_s = { home = 2 }'),
        8,
        "above the mean",
        "shorter",
    ),
    "rows that are not there": (
        ('kind = "choice", values = ["a", "b"]', 'kind = "uniform", max_of = "people"'),
        14,
        "no rows `people`",
        "[data]",
    ),
    "rows of none": (("[mix]", '[data.people]\nof = "towns"\ntimes = 2\n[mix]'), 17, "is not declared before", "first"),
    "rule of none": (
        ("[mix]", '[rules.r]\ntitle = "r"\noperation = "hme"\nof = "image_bytes"\nat_least = 1\n[mix]'),
        18,
        "unknown operation `hme`",
        "home",
    ),
    "rule of a request": (
        ("[mix]", '[rules.r]\ntitle = "r"\noperation = "home"\nrequest = "x"\nat_least = 1\n[mix]'),
        19,
        "no request named `x`",
        "",
    ),
    "rule without pictures": (
        ("[mix]", '[rules.r]\ntitle = "r"\noperation = "home"\nof = "image_bytes"\nat_least = 1\n[mix]'),
        19,
        "declares no images",
        "images",
    ),
    "condition of a matrix": (
        ("[mix.from]", '[mix.states]\nsearch = { operation = "search", when = ["a"] }\n[mix.from]'),
        20,
        "only in sequences",
        "probabilities",
    ),
    "half a brace": (('path = "/search"', 'path = "/{search"'), 26, "brace", "{name}"),
    "control character": (('path = "/search"', 'path = "/a\\nb"'), 26, "control character", "out"),
    "header name": (
        ('path = "/"', 'path = "/"\nheaders = { "Bad Name" = "1" }'),
        25,
        "not a valid header name",
        "letters",
    ),
    "inherited limit": (('path = "/"', 'path = "/"\ntimeout_s = 1'), 25, "not above the tolerable", "longer"),
    "no form of a limit": (
        ('path = "/"', 'path = "/"\nlimit = { good_s = 1 }'),
        25,
        "none of the valid forms",
        "good_s",
    ),
    "no operation": (
        ('[operations.home]\npath = "/"\n\n[operations.search]\npath = "/search"\nquery = { q = "{word}" }\n', ""),
        1,
        "no operation",
        "[operations.NAME]",
    ),
}

STUDIES = {
    "no load": ('[profile]\nname = "quick"\n', 1, "no load", "[[load]]"),
    "unknown profile": ('[[load]]\nworkload = "banking"\nsessions = 1\n[profile]\nname = "quik"\n', 5, "quik", "quick"),
    "no sessions": ('[[load]]\nworkload = "banking"\n', 1, "has no load", "sessions"),
    "second load": (
        '[[load]]\nworkload = "banking"\nsessions = 1\n[[load]]\nworkload = "support"\nsessions = -2\n',
        6,
        "-2",
        "50,100,50",
    ),
    "zero sessions": ('[[load]]\nworkload = "banking"\nsessions = 0\n', 3, "0", "50,100,50"),
    "loaded twice": (
        '[[load]]\nworkload = "a"\nsessions = 1\n[[load]]\nworkload = "a"\nsessions = 1\n',
        1,
        "twice",
        "one",
    ),
    "no address": (
        '[[load]]\nworkload = "banking"\nsessions = 1\n[target]\nurls = ["localhost"]\n',
        5,
        "not valid addresses",
        "http://HOST:PORT",
    ),
    "unknown section": ('[[load]]\nworkload = "banking"\nsessions = 1\n[driver_]\n', 4, "unknown section", "driver"),
    "no file": (
        '[[load]]\nworkload="banking"\nsessions=1\n[target]\nauthority = "nowhere.pem"\n',
        5,
        "not a file",
        "PEM",
    ),
}


def write_workload(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "workload.toml").write_text(text)
    return folder


def test_the_good_file_is_good(tmp_path: Path) -> None:
    assert load(str(write_workload(tmp_path, GOOD))).name == "site"


@pytest.mark.parametrize("case", WORKLOADS)
def test_a_broken_workload_is_refused_with_place_and_remedy(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (old, new), line, message, remedy = WORKLOADS[case]
    assert old in GOOD
    folder = write_workload(tmp_path / "site", GOOD.replace(old, new, 1))
    with pytest.raises(StudyError) as error:
        load(str(folder))
    matching = [one for one in error.value.problems if message in str(one)]
    assert matching, str(error.value)
    assert matching[0].line == line, str(error.value)
    assert remedy in str(matching[0])
    with pytest.raises(SystemExit) as end:
        main(["run", str(folder), "--sessions", "1"])
    assert end.value.code == 2
    assert f"workload.toml:{line}:" in capsys.readouterr().err.replace("\n", "")


@pytest.mark.parametrize("case", STUDIES)
def test_a_broken_study_is_refused_with_place_and_remedy(case: str, tmp_path: Path) -> None:
    text, line, message, remedy = STUDIES[case]
    file = tmp_path / "study.toml"
    file.write_text(text)
    with pytest.raises(StudyError) as error:
        read_study(file, list_file_sections())
    matching = [one for one in error.value.problems if message in str(one)]
    assert matching, str(error.value)
    assert (matching[0].line, remedy in str(matching[0])) == (line, True), str(error.value)
    with pytest.raises(SystemExit) as end:
        main(["run", str(file)])
    assert end.value.code == 2


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    text = (
        GOOD.replace("mean_s = 1", "mean_s = -1").replace('start = "home"', 'start = "hme"').replace("{word}", "{wrd}")
    )
    with pytest.raises(StudyError) as error:
        load(str(write_workload(tmp_path, text)))
    assert len(error.value.problems) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "bankng", "--sessions", "1"], "Did you mean `banking`"),
        (["run", "banking"], "sessions"),
        (["run", "banking", "--sessions", "1", "--rate", "5"], "exactly one load"),
        (["run", "banking", "--rate", "5-6-7"], "10-100"),
        (["run", "banking", "--rate", "0"], "greater than 0"),
        (["run", "banking", "--sessions", "0"], "is not a valid number of sessions. Use 1 to"),
        (["run", "banking", "--sessions", "1", "--profile", "swift"], "standard"),
        (["run", "banking", "--sessions", "1", "--target", "http://x:99999"], "1 to 65535"),
        (["run", "banking", "--sessions", "1", "--target", "http://127.0.0.1:1"], "needs https"),
        (["run", "banking", "banking", "--sessions", "1"], "named twice"),
        (["simulate", "banking", "--sessions", "1", "--server", "slow"], "fixed:SECONDS"),
        (["report", "nothing"], "loadstone results"),
        (["frobnicate"], "No such command"),
        (["simulate", "banking", "--sessions", "5000000000"], "less than or equal to"),
        (["run", "study.toml", "--seed", "7"], "study.toml cannot be read"),
    ],
)
def test_wrong_words_are_answered_with_advice(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())
