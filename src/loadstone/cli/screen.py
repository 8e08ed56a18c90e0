"""The terminal: results on standard output, everything else on standard error."""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

from rich.console import Console

from loadstone.model.errors import StoreError

out = Console(highlight=False)
errors = Console(stderr=True, highlight=False)

VERDICT_STYLE = {"pass": "bold green", "fail": "bold red", "invalid": "bold yellow"}


def say(text: str) -> None:
    """A line of a result, as it is: nothing in it is taken for markup, and it is not broken into lines."""
    out.print(text, markup=False, soft_wrap=True)


def warn(text: str) -> None:
    """A line for the person at the terminal, as it is."""
    errors.print(text, markup=False, soft_wrap=True)


def format_variables(names: Sequence[str]) -> str:
    """How a sentence names variables of the environment."""
    listed = " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
    return f"the value of the environment variable{'s' if len(names) > 1 else ''} {listed}"


class PatientStream:
    """A stream that nobody may be listening to, or that cannot show every letter: neither ends the program."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes what can be written. Raises StoreError when a disk takes no more."""
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        with _name_write_errors():
            self._stream.write(text.encode(encoding, "replace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Hands on what was written. Raises StoreError when a disk takes no more."""
        with _name_write_errors():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def _name_write_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        pass
    except OSError as error:
        raise StoreError(f"Cannot write to the output: {error.strerror}.") from None


@contextlib.contextmanager
def open_patient_streams() -> Iterator[None]:
    """Standard output and error, that never end the program; what was closed goes nowhere."""
    sys.stdout, sys.stderr = (stream or Path(os.devnull).open("w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(Any, PatientStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        for stream in before:
            _drain(stream)


def _drain(stream: IO[str]) -> None:
    """Hands on what is left; where that fails, the rest goes nowhere, also when the interpreter ends."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
