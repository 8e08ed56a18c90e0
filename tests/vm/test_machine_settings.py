"""Disks, cards and shares of the host as users set them, seen from the host while a machine runs."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from loadstone.model.machine import PUBLIC, SERVER
from loadstone.platforms.registry import read_machine
from loadstone.platforms.vm.command import GUEST_FILES
from loadstone.platforms.vm.machine import VirtualMachine
from loadstone.testbed.context import open_testbed
from tests.contract.conftest import nothing_is_left  # noqa: F401
from tests.kvm.checks.check import read_argv, thread_cores
from tests.kvm.checks.devices import read_segment

pytestmark = [
    pytest.mark.integration,
    pytest.mark.own_network,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks and groups of their own need root"),
    pytest.mark.slow("virtual machines start, and QEMU emulates them"),
]

Use = Callable[[VirtualMachine], Awaitable[None]]


def boot(folder: Path, use: Use, **settings: object) -> None:
    """Starts a machine with these settings, uses it and ends it."""

    async def play() -> None:
        async with open_testbed(folder) as base:
            spec = read_machine({"platform": "vm", "memory": 192, "accelerator": "tcg", "cold": True, **settings})
            machine = await base.start_machine("one", spec, (PUBLIC,))
            assert isinstance(machine, VirtualMachine)
            await use(machine)

    asyncio.run(play())


async def serve_and_read_segment(machine: VirtualMachine) -> int:
    """Starts a server in the machine; returns the largest segment of a connection to it in bytes, over the public
    network where they are smallest.
    """
    await machine.start("idle", [SERVER, "idle", "--listen", "0.0.0.0:9000"])
    addresses = [machine.address, *machine.further_addresses]
    return min([await asyncio.to_thread(read_segment, address, 9000) for address in addresses])


def test_a_machine_has_its_disk_its_queues_and_its_share_of_the_host(tmp_path: Path) -> None:
    async def use(machine: VirtualMachine) -> None:
        assert await serve_and_read_segment(machine) > 8900
        await machine.write("file", "content")
        outside = await machine.read_outside()
        assert outside and outside["disk"]["read_count"] > 0
        assert thread_cores(machine) == {"0"}
        assert "io" in machine.threads.values()
        groups = Path(f"/proc/{machine.pid}/cgroup").read_text()
        assert "one" in groups
        assert Path(f"/proc/{machine.pid}/stat").read_text().rpartition(")")[2].split()[16] == "5"
        assert "divider=10" in read_argv(machine.pid)[read_argv(machine.pid).index("-append") + 1]
        assert machine.facts["disk"] == "virtio-scsi, raw, cache=none, aio=native, 1 I/O threads"
        assert "2 queues, MTU 9000" in machine.facts["card"]
        assert list(machine.facts["networks"]) == [PUBLIC, "public-2"]
        assert list(outside["network"]) == [PUBLIC, "public-2"]
        assert machine.facts["host_share"] == "CPU weight 300, nice 5"

    disk = {"disk": 64, "disk_format": "raw", "controller": "virtio-scsi", "aio": "native", "io_threads": 1}
    share = {"pin": "0", "cpu_weight": 300, "nice": 5, "kernel_arguments": "divider=10"}
    boot(tmp_path, use, cpus=2, queues=2, mtu=9000, public_networks=2, **disk, **share)


def test_what_services_store_is_on_a_second_disk_beside_the_root(tmp_path: Path) -> None:
    async def use(machine: VirtualMachine) -> None:
        await machine.write("file", "content")
        disk = f"awk '$2 == \"{GUEST_FILES}\" {{ print $1, $3 }}' /proc/mounts; cat {GUEST_FILES}/file"
        shown = await machine.start("look", ["sh", "-c", f"echo $({disk}); sleep 1000"])
        assert shown.first_line.strip() == "/dev/vdb ext4 content"
        assert str(machine.facts["disk"]).endswith(", data disk of 64 MiB")

    boot(tmp_path, use, image="debian", memory=256, data_disk=64)


@pytest.mark.slow("downloads the generic kernel the first time")
def test_a_machine_with_hardware_of_the_nineties_and_of_today_serves(tmp_path: Path) -> None:
    async def use(machine: VirtualMachine) -> None:
        assert await serve_and_read_segment(machine) > 1400
        assert not str(machine.facts["kernel"]).count("cloud")
        assert machine.facts["card"] == "e1000, packets by QEMU, 1 queue"
        assert str(machine.facts["disk"]).startswith("nvme, qcow2")

    boot(tmp_path, use, nic="e1000", kernel="generic", disk=64, controller="nvme")
