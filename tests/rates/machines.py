"""Machines that start and stop many times."""

import asyncio
from pathlib import Path

from tests.rates.contract import Rate
from tests.vm.conftest import leaving_nothing
from tests.vm.test_failures import serve_from_a_machine


def start_and_stop(_: int, folder: Path) -> None:
    """Boots a machine, has it serve and takes it down; nothing of it may be left."""
    with leaving_nothing():
        asyncio.run(serve_from_a_machine(folder / "machine"))


RATES = (Rate("machine-starts", "A machine that has started and stopped leaves nothing", 20, start_and_stop),)
