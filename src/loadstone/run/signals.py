"""What signals do while a run is under way: they end it early, keep what there is, and never leave machines behind."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that ask for an end: from the keyboard, from others, and when the terminal goes away."""


class Signals:
    """While a system is put up a signal cancels that; while it is measured somebody is told; while it goes down
    nothing happens, since what was made is being taken away already.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self.was_heard_late = False
        """Whether one came on the way down: what was measured is complete, but nothing more is to be begun."""
        self._act: Callable[[], object] = self._give_up

    def __enter__(self) -> "Signals":
        for number in ENDING:
            self._loop.add_signal_handler(number, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in ENDING:
            self._loop.remove_signal_handler(number)

    @contextmanager
    def told(self, tell: Callable[[], object]) -> Iterator[None]:
        """Tells somebody of every signal until the block ends; after that there is only the way down."""
        self._act = tell
        try:
            yield
        finally:
            self._act = self._note

    def _hear(self) -> None:
        self._act()

    def _note(self) -> None:
        self.was_heard_late = True

    def _give_up(self) -> None:
        self._act = self._note  # a second signal must not break the way down
        self._task.cancel()
