"""Cards and disks of a machine, compared with the kernel's account of them."""

import asyncio
import errno
import re
import socket
import subprocess
from pathlib import Path

from loadstone.platforms.vm.usage import VHOST
from tests.kvm.checks.check import COLD, Check, Machines, read_argv, read_status, serve_idle
from tests.kvm.outcome import NotPossibleError

BLOCK_DEVICE = "/dev/nvme0n3"
CARDS = {"52:54:00:aa:00:01": "192.0.2.1/24", "52:54:00:aa:00:02": "192.0.2.2/24"}
"""The cable's two ends: the host keeps the first, a machine gets the second."""
MTU = 9000
WIDE = f"{COLD},cpus=2,queues=2,mtu={MTU},pin=1,disk=64,disk_format=raw,aio=native,io_threads=1"
ON_DEVICE = f"{COLD},device={BLOCK_DEVICE},controller=virtio-scsi,vhost=off,offloads=false"
CONNECTIONS = 50
LOOKS = 5
"""Times that the kernel looks for a machine on its network; each takes it three seconds."""


def _load_vhost() -> None:
    if subprocess.run(["modprobe", "vhost_net"]).returncode != 0:
        raise NotPossibleError("this kernel has no module vhost_net")


def _connect(host: str, port: int) -> socket.socket:
    """Connects to a machine, which a busy host may let wait for longer than the kernel looks for it on its network."""
    for patience in reversed(range(LOOKS)):
        try:
            return socket.create_connection((host, port), timeout=60)
        except OSError as error:
            if not patience or error.errno != errno.EHOSTUNREACH:
                raise
    raise AssertionError("unreachable")


def read_segment(host: str, port: int) -> int:
    """Requests a page; returns the largest segment of the connection in bytes."""
    with _connect(host, port) as connection:
        connection.sendall(b"GET /heartbeat HTTP/1.1\r\nHost: idle\r\nConnection: close\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1"), "no answer"
        return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)


async def _vhost(machines: Machines) -> str:
    _load_vhost()
    (machine,) = await machines.start(WIDE)
    threads = [thread for thread, kind in machine.threads.items() if kind == VHOST]
    assert threads, machine.threads
    cores = {read_status(Path(f"/proc/{thread}"), "Cpus_allowed_list") for thread in threads}
    assert cores == {"1"}, cores
    assert set(threads) == set(machine.companions.values()), machine.companions
    end = await serve_idle(machine)
    before = await machine.read_outside()
    for _ in range(CONNECTIONS):
        await asyncio.to_thread(read_segment, end.host, end.port)
    after = await machine.read_outside()
    assert before and after
    used = after["cpu"][VHOST] - before["cpu"][VHOST]
    assert used > 0, after
    return f"{len(threads)} threads on core 1, {used:.2f} s of CPU for {CONNECTIONS} exchanges: {machine.facts['card']}"


async def _queues(machines: Machines) -> str:
    _load_vhost()
    (machine,) = await machines.start(WIDE)
    (nic,) = machine.context.nics.values()
    folder = f"/sys/class/net/{nic.interface}"
    argv = ["ip", "netns", "exec", nic.namespace, "ls", f"{folder}/queues"]
    listed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    assert {"rx-0", "rx-1", "tx-0", "tx-1"} <= set(listed), listed
    end = await serve_idle(machine)
    segment = await asyncio.to_thread(read_segment, end.host, end.port)
    assert segment > MTU - 100, segment
    return f"two queues; segments of {segment} bytes between host and machine"


async def _raw_disk(machines: Machines) -> str:
    _load_vhost()
    (machine,) = await machines.start(WIDE)
    await machine.write("file", "x" * 100_000)
    outside = await machine.read_outside()
    assert outside and outside["disk"]["write_count"] + outside["disk"]["read_count"] > 0, outside
    assert "io" in machine.threads.values()
    assert any('"driver": "raw"' in word and '"aio": "native"' in word for word in read_argv(machine.pid))
    reads, writes = (round(outside["disk"][f"{kind}_count"]) for kind in ("read", "write"))
    return f"{reads} reads, {writes} writes: {machine.facts['disk']}"


async def _block_device(machines: Machines) -> str:
    (machine,) = await machines.start(ON_DEVICE)
    opened = {str(file.resolve()) for file in Path(f"/proc/{machine.pid}/fd").iterdir()}
    assert BLOCK_DEVICE in opened, opened
    identity = subprocess.run(["blkid", "-p", BLOCK_DEVICE], capture_output=True, text=True).stdout
    assert "ext4" in identity, identity
    return str(machine.facts["disk"])


async def _passed_card(machines: Machines) -> str:
    interfaces = {path.parent: path.read_text().strip() for path in Path("/sys/class/net").glob("*/address")}
    cards = {mac: path for path, mac in interfaces.items() if mac in CARDS}
    if len(cards) != len(CARDS):
        raise NotPossibleError(f"the host has no two cards on a cable: {interfaces}")
    kept, passed = (cards[mac] for mac in CARDS)
    device = (passed / "device").resolve()
    device = device if (device / "vendor").is_file() and "virtio" not in device.name else device.parent
    if not (device / "iommu_group").exists():
        raise NotPossibleError(f"{device.name} has no IOMMU group")
    subprocess.run(["ip", "address", "add", CARDS["52:54:00:aa:00:01"], "dev", kept.name], check=True)
    subprocess.run(["ip", "link", "set", kept.name, "up"], check=True)
    address = CARDS["52:54:00:aa:00:02"]
    (machine,) = await machines.start(f"{COLD},vfio={device.name},vfio_address={address}")
    assert (device / "driver").resolve().name == "vfio-pci"
    end = await serve_idle(machine)
    assert end.host == address.partition("/")[0], end
    await asyncio.to_thread(read_segment, end.host, end.port)
    user = read_status(Path(f"/proc/{machine.pid}"), "Uid").split()[0]
    limit = re.search(r"^Max locked memory\s+(\S+)", Path(f"/proc/{machine.pid}/limits").read_text(), re.MULTILINE)
    assert limit and limit[1] == "unlimited", limit
    await machines.close()
    assert (device / "driver").resolve().name == "virtio-pci", "the card was not given back"
    return f"{device.name} answered at {end.host}; QEMU as user {user} may lock all memory; given back"


CHECKS = (
    Check("vhost", "vhost by default: threads of the kernel are pinned and counted", _vhost),
    Check("queues", "queues and mtu: the tap has two queues, and long segments pass", _queues),
    Check("raw-disk", "a raw disk with native I/O and a thread of its own", _raw_disk),
    Check("block-device", "a disk on a block device of the host, by virtio-scsi", _block_device),
    Check("vfio", "a card of the host is passed through and given back", _passed_card),
)
