"""The page of the exit codes."""

from collections.abc import Iterator, Mapping

from docs_reference.markdown import paragraph, table
from loadstone.cli.exits import Exit

MEANINGS: Mapping[Exit, str] = {
    Exit.PASS: "Pass, or success of a command that judges nothing.",
    Exit.FAIL: "Fail: a run failed, no load of a search passes, or B of a comparison is worse.",
    Exit.WRONG_INPUT: "Wrong input or set-up. Nothing was judged.",
    Exit.INVALID: "Invalid run, a series with too few valid runs, or a study without an answer.",
    Exit.CRASHED: "Error of Loadstone itself. The message names a file with the details.",
    Exit.INTERRUPTED: "Interrupted.",
}


def exit_codes() -> Iterator[str]:
    """Blocks of exit-codes.md."""
    yield "# Exit codes"
    yield paragraph(
        "Every command ends with one of these codes. `loadstone demo` ends with 0 for every completed run, whatever "
        "its verdict. `make reference` writes this page from the program."
    )
    yield table(("code", "name", "meaning"), ((str(int(code)), code.name, MEANINGS[code]) for code in Exit))
    yield paragraph(
        "Ctrl-C ends a run early and keeps what was measured. The same command continues an interrupted study."
    )
