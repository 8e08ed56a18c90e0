"""Signals while a run is under way, within this process."""

import asyncio
import os
import signal

import pytest

from loadstone.run.signals import ENDING_SIGNALS, Signals

LONGEST_S = 60.0


def test_signals_of_keyboard_others_and_terminal_end_a_run() -> None:
    assert set(ENDING_SIGNALS) == {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}


@pytest.mark.parametrize("ending", ENDING_SIGNALS, ids=lambda ending: ending.name)
def test_a_signal_cancels_what_is_put_up(ending: signal.Signals) -> None:
    async def put_up() -> None:
        with Signals():
            os.kill(os.getpid(), ending)
            await asyncio.sleep(LONGEST_S)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(put_up())


@pytest.mark.parametrize("ending", ENDING_SIGNALS, ids=lambda ending: ending.name)
def test_a_signal_interrupts_what_is_measured_and_is_noted_on_the_way_down(ending: signal.Signals) -> None:
    async def measure() -> tuple[bool, bool]:
        interrupted = asyncio.Event()
        with Signals() as signals:
            with signals.report_to(interrupted.set):
                os.kill(os.getpid(), ending)
                await asyncio.wait_for(interrupted.wait(), LONGEST_S)
            was_late_at_once = signals.was_heard_late
            os.kill(os.getpid(), ending)
            async with asyncio.timeout(LONGEST_S):
                while not signals.was_heard_late:
                    await asyncio.sleep(0.01)
            return was_late_at_once, signals.was_heard_late

    assert asyncio.run(measure()) == (False, True)
