"""Processes that others have started."""

import asyncio
import subprocess
from pathlib import Path

from loadstone.host.adopted import AdoptedProcess
from loadstone.host.identity import start_of


def test_an_adopted_process_is_waited_for_and_killed_and_another_of_its_number_is_not() -> None:
    async def wait_for(process: AdoptedProcess) -> int:
        return await asyncio.wait_for(process.wait(), 100)

    with subprocess.Popen(["sleep", "600"]) as child:
        start = start_of(child.pid)
        other = AdoptedProcess(child.pid, f"{start}0")
        assert other.returncode is not None
        other.kill()
        adopted = AdoptedProcess(child.pid, start)
        assert adopted.returncode is None
        adopted.kill()
        assert asyncio.run(wait_for(adopted)) == -1  # also while its parent has not looked after it
        assert Path(f"/proc/{child.pid}").exists()
