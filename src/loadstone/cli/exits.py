"""Exit codes."""

from enum import IntEnum

from loadstone.model.records.verdict import Verdict


class Exit(IntEnum):
    """What the shell is told."""

    PASS = 0
    FAIL = 1
    WRONG_INPUT = 2
    INVALID = 3
    CRASHED = 70
    """An error of the program itself (sysexits.h, EX_SOFTWARE)."""
    INTERRUPTED = 130


BY_VERDICT = {Verdict.PASS: Exit.PASS, Verdict.FAIL: Exit.FAIL, Verdict.INVALID: Exit.INVALID}
