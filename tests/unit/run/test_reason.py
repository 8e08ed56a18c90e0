"""The reason that an answer gives, without its markup."""

import pytest

from loadstone.run.reason import LONGEST_REASON, read_reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            '<!DOCTYPE html><html><head><title>Comment Submission Failure</title><style>a{}</style></head><body id="x">'
            "<div><p>Duplicate comment detected; it looks as though you&#8217;ve already said that!</p>"
            "<p><a href='x'>&laquo; Back</a></p></div></body></html>",
            "Comment Submission Failure: Duplicate comment detected; it looks as though you\u2019ve already said that! "
            "\u00ab Back",
        ),
        ("<h1>Not Found</h1><script>var a = 1</script>", "Not Found"),
        ("<html><nav><a>Home</a></nav><p>Wrong<br>password</p>", "Wrong password"),
        ('{"error": {"code": 409, "message": "already there"}}', "already there 409"),
        ('{"errors": ["a is missing", {"detail": "b is wrong"}]}', "a is missing b is wrong"),
        ('{"status": "failed"}', '{"status": "failed"}'),
        ("plain\n  text", "plain text"),
        ("<p>never ended <b>bold", "never ended bold"),
        ("", ""),
    ],
)
def test_the_reason_is_what_a_person_reads(body: str, reason: str) -> None:
    assert read_reason(body) == reason


def test_a_long_reason_is_cut_and_holds_no_control_characters() -> None:
    told = read_reason("<p>" + "word\x1b " * 1000)
    assert len(told) == LONGEST_REASON + 3
    assert told.isprintable()


def test_nesting_without_end_is_no_trouble() -> None:
    assert read_reason("[" * 100_000)
    assert read_reason("<div>" * 100_000) == ""
