"""What no driver can compile is refused before anything is sent, by every command that would play it."""

from pathlib import Path

import pytest

from loadstone.cli.main import main
from loadstone.workloads import load

pytestmark = pytest.mark.integration
WRONG = {
    "regex": ("(((((", "(?=ahead)(x)", "(a)\\\\1", "(?P<name", "[z-a](x)"),
    "css": ("a[", "::", "a >"),
}


def folder_of(above: Path, extract: str) -> Path:
    text = (Path(load("static").folder) / "workload.toml").read_text().replace('name = "static"', 'name = "own"')
    (above / "workload.toml").write_text(f"{text}\n[[operations.page.extract]]\nvalue = 'found'\n{extract}\n")
    return above


def code_of(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in WRONG.items() for text in texts])
def test_a_pattern_that_no_driver_can_compile_is_a_problem_of_the_workload(
    kind: str, text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of(tmp_path, f'{kind} = "{text}"')
    assert code_of("workloads", "check", str(folder)) == 2
    assert "cannot be played" in capfd.readouterr().err


def test_others_are_none(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = folder_of(tmp_path, 'regex = "order-([0-9]+)"')
    assert code_of("workloads", "check", str(folder)) == 0
    assert "no problem" in " ".join(capfd.readouterr().out.split())


@pytest.mark.parametrize("words", [("try",), ("run", "--profile", "demo")])
def test_it_is_said_before_anything_is_sent(words: tuple[str, ...], tmp_path: Path) -> None:
    folder = folder_of(tmp_path, 'regex = "((("')
    target = "http://127.0.0.1:9"  # nobody listens there, which would be said later
    assert code_of(words[0], str(folder), "--target", target, *words[1:]) == 2
