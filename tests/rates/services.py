"""Services in settings that a test of everything leaves out, for they take minutes."""

import asyncio
from pathlib import Path

from loadstone.model.machine import MachineSpec
from tests.contract import test_shared_folder, test_web_servers
from tests.rates.contract import Rate


def share_between_virtual_machines(trial: int, folder: Path) -> None:
    """Has one virtual machine write into a folder of another, and read it."""
    virtual = MachineSpec(platform="vm")
    asyncio.run(test_shared_folder.write_and_read(folder, [virtual], virtual))


def serve_by_java(trial: int, folder: Path) -> None:
    """Puts up a Tomcat by a mechanism and a tuning that the tests leave out."""
    left = [case for case in test_web_servers.ALL if case not in test_web_servers.OFFERED]
    test_web_servers.visit(*left[trial % len(left)], folder)


RATES = (
    Rate(
        "folder-between-machines",
        "A virtual machine reads a file from the folder of another",
        3,
        share_between_virtual_machines,
    ),
    Rate("tomcat-settings", "Tomcat works with each mechanism in each tuning", 4, serve_by_java),
)
