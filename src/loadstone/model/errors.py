"""Errors, by who must act: each says what is wrong, where, and what to do next."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


class LoadstoneError(Exception):
    """Something the program cannot go on with; the text is for the person at the terminal."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a file a user wrote: its place, what is wrong, and the remedy."""

    file: Path
    line: int
    place: str
    message: str
    remedy: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: {self.place}: " if self.place else f"{self.file}:{self.line}: "
        return f"{where}{self.message}. {self.remedy}"


class StudyError(LoadstoneError):
    """The author of a file must act: all problems at once, each with its place."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: (str(problem.file), problem.line)))
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UsageError(LoadstoneError):
    """The words of a command do not fit together."""


class PlatformError(LoadstoneError):
    """The machine or its set-up must be mended."""


class NotProtectedError(PlatformError):
    """No side follows a machine at this moment: a fault would end it, or have no effect."""


class ServiceError(LoadstoneError):
    """A server did not start, answer or stop as it should."""


class DriverError(LoadstoneError):
    """The load driver failed; what it had measured by then is kept."""


class StoreError(LoadstoneError):
    """A result folder is missing, incomplete or not ours."""
