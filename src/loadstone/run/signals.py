"""What signals do while a run is under way: they end it early, keep what there is, and never leave machines behind."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""Signals that ask for an end: from the keyboard, from others, and when the terminal goes away."""


_elsewhere: set["Signals"] = set()
"""Runs in threads of their own, which hear of signals from the main one alone."""


@contextmanager
def relay_signals() -> Iterator[None]:
    """Tells the runs of all other threads of every signal until the block ends; for the main thread."""
    loop = asyncio.get_running_loop()
    for number in ENDING_SIGNALS:
        loop.add_signal_handler(number, _relay)
    try:
        yield
    finally:
        for number in ENDING_SIGNALS:
            loop.remove_signal_handler(number)


def _relay() -> None:
    for signals in tuple(_elsewhere):
        signals.listen_soon()


class Signals:
    """While a system is put up a signal cancels that; while it is measured somebody is told; while it goes down
    nothing happens, since what was made is being taken away already.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._is_main = threading.current_thread() is threading.main_thread()
        self.was_heard_late = False
        """Whether one came on the way down: what was measured is complete, but nothing more is to be begun."""
        self._act: Callable[[], object] = self._give_up

    def __enter__(self) -> "Signals":
        if not self._is_main:
            _elsewhere.add(self)
            return self
        for number in ENDING_SIGNALS:
            self._loop.add_signal_handler(number, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _elsewhere.discard(self)
        if self._is_main:
            for number in ENDING_SIGNALS:
                self._loop.remove_signal_handler(number)

    def listen_soon(self) -> None:
        """Hears of a signal in its own thread."""
        self._loop.call_soon_threadsafe(self._hear)

    @contextmanager
    def report_to(self, tell: Callable[[], object]) -> Iterator[None]:
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
