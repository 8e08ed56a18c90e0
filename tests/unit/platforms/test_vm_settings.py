"""Virtual machines as users set them up: QEMU's arguments, the settings that do not go together, the disclosure."""

import asyncio
import errno
import json
from contextlib import AsyncExitStack
from dataclasses import replace
from ipaddress import IPv4Interface, IPv4Network
from itertools import pairwise
from pathlib import Path

import pytest

from loadstone.host import netlink
from loadstone.host.numa import find_nodes
from loadstone.model.errors import PlatformError, UsageError
from loadstone.model.machine import Lines
from loadstone.platforms.cgroup import Group
from loadstone.platforms.contract import Attachment
from loadstone.platforms.fabric import Fabric, Network, NetworkInterface, _add_tap
from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.kind import get_own_settings
from loadstone.platforms.kinds import vm
from loadstone.platforms.kinds.vm import VmPlatform
from loadstone.platforms.maker import MachineMaker
from loadstone.platforms.registry import read_machine, refuse_foreign
from loadstone.platforms.vm import host_share, image, usage
from loadstone.platforms.vm.command import Layout, Sockets, build_command, build_kernel_line
from loadstone.platforms.vm.conflicts import find_conflict, find_lack
from loadstone.platforms.vm.guest import list_passed_interfaces
from loadstone.platforms.vm.host_share import find_vhost_threads, make_launch_prefix
from loadstone.platforms.vm.image import IDENTITY, Image
from loadstone.platforms.vm.machine import _connect_timeout_s
from loadstone.platforms.vm.passed_card import PassedCard
from loadstone.platforms.vm.settings import Accelerator, VmSettings

IMAGE = Image("minimal", "0", Path("/k"), "6.1", Path("/i"))
NIC = NetworkInterface("public", "tap1", "ls1", "10.200.0.2", "52:54:0a:c8:00:02", "10.200.0.1")


def layout(**settings: object) -> Layout:
    sockets = Sockets(Path("/q"), Path("/a"), Path("/c"))
    machine = read_machine({"platform": "vm", **settings})
    disk = Path("/disk") if machine.disk else None
    return Layout("web", machine, Accelerator.KVM, IMAGE, sockets, (NIC,), disk)


def argument(planned: Layout, name: str, beginning: str = "") -> str:
    """The value of QEMU's option whose value begins so."""
    argv = build_command(planned)
    values = [value for option, value in pairwise(argv) if option == f"-{name}"]
    (found,) = [value for value in values if value.startswith(beginning)]
    return found


def block_node(**settings: object) -> dict[str, object]:
    node: dict[str, object] = json.loads(argument(layout(disk=64, **settings), "blockdev"))
    return node


def test_a_machine_by_kvm_has_the_processor_of_its_host() -> None:
    assert argument(layout(), "cpu") == "host"
    assert argument(layout(), "accel") == "kvm"
    assert argument(replace(layout(), accelerator=Accelerator.TCG), "cpu") == "max"


@pytest.mark.parametrize(
    ("settings", "driver", "file"),
    [
        ({}, "qcow2", ("file", "threads")),
        ({"disk_format": "raw"}, "raw", ("file", "threads")),
        ({"aio": "native"}, "qcow2", ("file", "native")),
        ({"device": "/dev/sdb", "aio": "io_uring"}, "raw", ("host_device", "io_uring")),
    ],
)
def test_a_disk_has_its_format_and_its_interface(
    settings: dict[str, object], driver: str, file: tuple[str, str]
) -> None:
    node = block_node(**settings)
    assert node["driver"] == driver
    assert isinstance(node["file"], dict)
    assert (node["file"]["driver"], node["file"]["aio"]) == file


@pytest.mark.parametrize(
    ("controller", "device", "modules"),
    [
        ("virtio-blk", "virtio-blk-pci,drive=root,write-cache=on,iothread=io0", ""),
        ("virtio-scsi", "virtio-scsi-pci,id=scsi,iothread=io0", "loadstone.modules=scsi"),
    ],
)
def test_a_disk_has_its_controller_and_the_module_for_it(controller: str, device: str, modules: str) -> None:
    planned = layout(disk=64, controller=controller, io_threads=1)
    assert argument(planned, "device", device.partition(",")[0]) == device
    assert modules in build_kernel_line(planned)


def test_an_nvme_disk_and_a_scsi_disk_are_on_their_buses() -> None:
    assert argument(layout(disk=64, controller="nvme"), "device", "nvme") == (
        "nvme,serial=loadstone,drive=root,write-cache=on"
    )
    assert argument(layout(disk=64, controller="virtio-scsi"), "device", "scsi-hd") == (
        "scsi-hd,bus=scsi.0,drive=root,write-cache=on"
    )


@pytest.mark.parametrize(
    ("settings", "device"),
    [
        ({}, "virtio-blk-pci,drive=data,write-cache=on"),
        ({"io_threads": 1}, "virtio-blk-pci,drive=data,write-cache=on,iothread=io0"),
        ({"io_threads": 4}, "virtio-blk-pci,drive=data,write-cache=on,iothread=io1"),
        ({"controller": "virtio-scsi"}, "scsi-hd,bus=scsi.0,drive=data,write-cache=on"),
        ({"controller": "nvme", "cache": "directsync"}, "nvme,serial=loadstone-data,drive=data,write-cache=off"),
    ],
)
def test_a_second_disk_is_at_a_controller_of_the_same_kind(settings: dict[str, object], device: str) -> None:
    planned = replace(layout(disk=64, data_disk=2048, **settings), data_disk=Path("/data"))
    assert argument(planned, "device", device[: device.index("drive=data") + 10]) == device


def test_a_second_disk_is_a_file_even_beside_a_block_device() -> None:
    planned = replace(layout(disk=64, device="/dev/sdb", data_disk=64), data_disk=Path("/data.qcow2"))
    nodes = [json.loads(value) for option, value in pairwise(build_command(planned)) if option == "-blockdev"]
    assert [(node["node-name"], node["driver"], node["file"]["driver"]) for node in nodes] == [
        ("root", "raw", "host_device"),
        ("data", "qcow2", "file"),
    ]


def test_a_card_has_vhost_queues_and_its_longest_packet() -> None:
    planned = replace(layout(cpus=4, queues=4, mtu=9000), has_vhost=True)
    assert argument(planned, "netdev") == "tap,id=line0,ifname=tap1,script=no,downscript=no,vhost=on,queues=4"
    assert argument(planned, "device", "virtio-net-pci").endswith(",mq=on,vectors=10,host_mtu=9000")
    assert "vhost" not in argument(layout(), "netdev")


def test_a_card_without_offloads_computes_nothing() -> None:
    card = argument(layout(offloads=False), "device", "virtio-net-pci")
    assert {"csum=off", "gso=off", "host_tso4=off", "guest_tso4=off", "guest_csum=off"} <= {*card.split(",")}
    assert "off" not in argument(layout(), "device", "virtio-net-pci")


def test_other_models_have_the_address_of_the_machine() -> None:
    planned = layout(nic="e1000", kernel="generic")
    assert argument(planned, "device", "e1000") == f"e1000,netdev=line0,mac={NIC.mac}"
    assert "loadstone.modules=e1000" in build_kernel_line(planned)
    assert not planned.is_restorable


@pytest.mark.parametrize(
    ("settings", "nodes", "memory"),
    [
        ({"pages": "huge"}, (), "memory-backend-memfd,id=memory,size=512M,hugetlb=on"),
        ({"pages": "huge-1G"}, (), "memory-backend-memfd,id=memory,size=512M,hugetlb=on,hugetlbsize=1G"),
        ({}, (1,), "memory-backend-ram,id=memory,size=512M,host-nodes=1,policy=bind,prealloc=on"),
        (
            {"pages": "huge-2M"},
            (0, 1),
            "memory-backend-memfd,id=memory,size=512M,hugetlb=on,hugetlbsize=2M,host-nodes=0,host-nodes=1,"
            "policy=bind,prealloc=on",
        ),
    ],
)
def test_memory_has_its_pages_and_its_nodes(settings: dict[str, object], nodes: tuple[int, ...], memory: str) -> None:
    planned = replace(layout(**settings), nodes=nodes)
    assert argument(planned, "object") == memory
    assert argument(planned, "machine") == "q35,memory-backend=memory"


def test_arguments_of_the_kernel_follow_ours() -> None:
    line = build_kernel_line(layout(kernel_arguments="divider=10 nosmt"))
    assert line == "console=ttyS0 panic=-1 quiet cryptomgr.notests divider=10 nosmt"


def test_a_passed_card_is_a_device_whose_address_users_reach() -> None:
    card = PassedCard("52:54:00:aa:00:02", IPv4Interface("192.0.2.10/24"))
    planned = replace(layout(vfio="0000:03:00.0", vfio_address="192.0.2.10/24"), passed=card)
    assert argument(planned, "device", "vfio-pci") == "vfio-pci,host=0000:03:00.0"
    assert list_passed_interfaces(card) == [
        {"mac": "52:54:00:aa:00:02", "address": "192.0.2.10", "prefix": 24, "gateway": None}
    ]
    assert not planned.is_restorable


def settings_of(**settings: object) -> VmSettings:
    return layout(**settings).settings


def test_the_process_starts_in_its_group_with_its_priority_and_may_lock_memory() -> None:
    group = Group((Path("/sys/fs/cgroup/web"),), Path("/usage"))
    argv = make_launch_prefix(settings_of(nice=19), (NIC,), group, locks_memory=True)
    assert argv[:4] == ["sh", "-c", 'echo $$ > /sys/fs/cgroup/web/cgroup.procs && exec "$@"', "join"]
    assert argv[4:] == ["nice", "-n", "19", "prlimit", "--memlock=unlimited", "nsenter", "--net=/run/netns/ls1"]
    assert make_launch_prefix(settings_of(), (), None, locks_memory=False) == []


def add_task(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    (folder / "comm").write_text(f"{name}\n")


def test_vhost_threads_are_the_processs_own_or_the_kernels(tmp_path: Path) -> None:
    for task, name in (("50/task/50", "qemu"), ("50/task/53", "vhost-50"), ("50/task/51", "CPU 0/KVM")):
        add_task(tmp_path / task, name)
    for process, name in (("60", "vhost-50"), ("61", "vhost-500"), ("62", "kworker/0:1")):
        add_task(tmp_path / process, name)
    assert find_vhost_threads(50, tmp_path) == [53, 60]


def test_cpu_time_of_vhost_threads_is_counted_by_itself() -> None:
    here = Path("/proc/self/task")
    thread = int(next(here.iterdir()).name)
    seconds = usage.read_thread_seconds(thread, {thread: usage.VHOST})
    assert seconds["vhost"] > 0
    assert "vhost" not in usage.read_thread_seconds(thread, {})


def test_nodes_are_those_of_the_cores(tmp_path: Path) -> None:
    for node, cores in ((0, "0-1,4"), (1, "2-3")):
        (tmp_path / f"node{node}").mkdir()
        (tmp_path / f"node{node}" / "cpulist").write_text(f"{cores}\n")
    assert [find_nodes(cores, tmp_path) for cores in ({0, 4}, {3}, {1, 2})] == [(0,), (1,), (0, 1)]
    assert find_nodes({0}, tmp_path / "none") == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("aio=native,cache=writeback,disk=64", "`aio=native` needs a disk without the host's cache"),
        ("controller=nvme,io_threads=1,disk=64", "QEMU serves an `nvme` disk without I/O threads"),
        ("disk_format=raw", "The image `minimal` has no disk, so `disk_format` does not apply. Add `disk=1024`"),
        ("device=/dev/sdb,disk_format=raw", "A `device` has no file"),
        ("data_disk=64", "The image `minimal` has no root disk, so its `disk` is the data disk"),
        ("queues=2,cpus=2,nic=vmxnet3", "A card `vmxnet3` has no `queues`. Use `nic=virtio-net-pci`"),
        ("mtu=9000,network=user", "A user-mode network has no `mtu`. Use `network=bridge`"),
        ("vhost=on,network=user", "A user-mode network has no `vhost`"),
        ("queues=4,cpus=2", "`queues=4` needs `cpus=4`"),
        ("nic=e1000", "The cloud kernel has no driver for `e1000`. Add `kernel=generic`"),
        ("vfio=3:0.0,vfio_address=192.0.2.10/24", "`3:0.0` is not a PCI address"),
        ("vfio=0000:03:00.0", "A passed card needs both"),
        ("vfio=0000:03:00.0,vfio_address=192.0.2.10", "`192.0.2.10` is not an address with its prefix"),
        ("bind_memory=true", "Add `pin`, such as `pin=0-1`"),
        ("public_networks=2,network=user", "A user-mode network has no `public_networks`"),
        ("public_networks=2,bridge=br0", "Name a bridge for each network, such as `bridge=br0+br1`"),
        ("public_networks=2,bridge=br0+br1/br2", "`bridge=br2` does not name 2 bridges"),
        ("public_networks=2,bridge=br0+br0", "`bridge=br0+br0` names a bridge twice"),
        ("bridge=br0+br1", "Add `public_networks=2`"),
        (
            "vfio=0000:03:00.0,vfio_address=192.0.2.10/24,public_networks=2",
            "Users reach a machine with `vfio` at that card alone",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused_with_a_remedy(settings: str, message: str) -> None:
    assert message in find_conflict(read_machine(f"platform=vm,{settings}"))


@pytest.mark.parametrize(
    "settings",
    [
        "",
        "aio=native,disk=64",
        "image=debian,disk_format=raw",
        "queues=2,cpus=2,mtu=9000,offloads=false",
        "nic=e1000,kernel=generic",
        "pin=0,bind_memory=true",
        "vfio=0000:03:00.0,vfio_address=192.0.2.10/24",
        "vhost=off,network=user",
        "public_networks=2,bridge=br0+br1/br2+br3",
        "public_networks=2,nic=vmxnet3",
    ],
)
def test_settings_that_go_together_are_taken(settings: str) -> None:
    assert find_conflict(read_machine(f"platform=vm,{settings}")) == ""


def test_what_the_host_lacks_is_refused_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "`/dev/null` is not a block device" in find_lack(read_machine("platform=vm,device=/dev/null"))
    assert "There is no bridge `lo` here" in find_lack(read_machine("platform=vm,bridge=lo"))
    missing = "platform=vm,vfio=ffff:ff:1f.7,vfio_address=192.0.2.10/24"
    assert "There is no PCI device ffff:ff:1f.7 here" in find_lack(read_machine(missing))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "`cpu_weight` of a machine needs root" in find_lack(read_machine("platform=vm,cpu_weight=200"))
    assert find_lack(read_machine("platform=vm,nice=10")) == ""


def test_settings_of_bridges_lead_to_a_bridge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vm, "may_make_networks", lambda: False)
    assert VmPlatform().choose_attachment(read_machine("platform=vm")) is Attachment.NONE
    assert VmPlatform().choose_attachment(read_machine("platform=vm,cpus=2,queues=2")) is Attachment.TAP


def test_other_platforms_refuse_the_settings() -> None:
    with pytest.raises(UsageError, match=r"A container has no `queues`. Use --platform vm"):
        refuse_foreign(read_machine("platform=container"), ["queues"])


@pytest.mark.parametrize(
    ("listed", "is_refused"), [("", False), (f"ext4 {IDENTITY}\n", False), ("xfs 1234\n", True), ("gpt\n", True)]
)
def test_a_device_with_other_content_is_not_written_to(
    listed: str, is_refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []

    def run(command: list[str], *_: object) -> str:
        calls.append(command)
        return listed if command[0] == "wipefs" else ""

    monkeypatch.setattr(image, "run_tool", run)
    built = replace(IMAGE, root=tmp_path / "root.qcow2")
    if is_refused:
        with pytest.raises(PlatformError, match=r"has content \((xfs|gpt)\), which would be lost"):
            image.write_device(built, 0, Path("/dev/sdb"))
    else:
        image.write_device(built, 0, Path("/dev/sdb"))
    assert [call[0] for call in calls] == (["wipefs"] if is_refused else ["wipefs", "qemu-img"])


def test_weights_are_written_to_the_group_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(cpu_weight=200)
    asked: list[tuple[str, int | None, int | None]] = []

    def weighted(journal: object, name: str, cpu: int | None, disks: int | None) -> Group:
        asked.append((name, cpu, disks))
        return Group((tmp_path,), tmp_path / "usage")

    monkeypatch.setattr(host_share, "make_weighted_group", weighted)
    assert host_share.make_share_group(None, "web", settings) is not None  # type: ignore[arg-type]
    assert host_share.make_share_group(None, "web", settings_of()) is None  # type: ignore[arg-type]
    assert asked == [("web", 200, None)]


def test_a_machine_that_cannot_be_is_named_by_its_platform() -> None:
    missing = asyncio.run(VmPlatform().explain_missing(read_machine("platform=vm,nic=e1000")))
    assert "kernel=generic" in missing or "apt-get install" in missing


def test_a_machine_loads_all_lists_of_modules_that_its_devices_need() -> None:
    planned = layout(nic="e1000", kernel="generic", controller="virtio-scsi", disk=64)
    assert "loadstone.modules=scsi,e1000" in build_kernel_line(planned)


def test_qemu_has_more_time_to_start_where_it_takes_memory_at_once() -> None:
    assert _connect_timeout_s(layout(memory=65536)) == 60
    assert _connect_timeout_s(layout(memory=65536, pages="huge")) == 60 + 256


def test_machines_on_several_bridges_of_the_host_are_on_several_networks(tmp_path: Path) -> None:
    with (tmp_path / "journal").open("w") as journal:
        fabric = Fabric(ResourceJournal(tmp_path, 0, journal))
        maker = MachineMaker(tmp_path, fabric.journal, fabric, AsyncExitStack())
        fabric.networks["public"] = Network("public", IPv4Network("10.200.0.0/24"))
        first = maker._choose_network("public", Lines.SHARED, "br0")
        fabric.networks[first] = Network(first, IPv4Network("10.200.1.0/24"), joined="br0")
        assert first == "public2"
        assert maker._choose_network("public", Lines.SHARED, "br0") == first
        assert maker._choose_network("public", Lines.SHARED, "br1") == "public3"
        assert maker._choose_network("public", Lines.SHARED, "") == "public"
        assert maker._choose_network("private", Lines.OWN, "") == "private"
        assert maker._choose_network("public-2", Lines.SHARED, "") == "public-2"
        assert maker._choose_network("public-2", Lines.OWN, "") == "public-23"


def test_each_public_network_is_joined_to_a_bridge_of_its_own() -> None:
    spec = read_machine("platform=vm,count=2,public_networks=2,bridge=br0+br1/br2+br3").with_number(1)
    assert get_own_settings(read_machine(spec.declared), VmSettings).bridges == ["br2", "br3"]
    assert get_own_settings(read_machine("platform=vm"), VmSettings).choose_bridge(0) == ""


def test_copies_take_cores_and_bridges_round_robin() -> None:
    spec = read_machine("platform=vm,count=3,pin=0/1,bridge=br0/br1")
    copies = [read_machine(spec.with_number(index).declared) for index in range(3)]
    assert [copy.pin for copy in copies] == ["0", "1", "0"]
    assert [get_own_settings(copy, VmSettings).bridge for copy in copies] == ["br0", "br1", "br0"]
    assert read_machine("platform=vm,count=2").with_number(1).pin is None


class SlowRoutes:
    """Routes whose first answers are errors of these numbers."""

    def __init__(self, *codes: int) -> None:
        self.codes, self.calls = list(codes), 0

    def link(self, *_: object, **__: object) -> None:
        self.calls += 1
        if self.codes:
            raise netlink.NetlinkError(self.codes.pop(0))


@pytest.mark.parametrize(("codes", "calls"), [((), 1), ((errno.ENODATA,), 2), ((errno.ENODATA, errno.EEXIST), 2)])
def test_a_tap_is_requested_again_where_the_host_was_too_slow(codes: tuple[int, ...], calls: int) -> None:
    routes = SlowRoutes(*codes)
    _add_tap(routes, "tap1", 1)
    assert routes.calls == calls


@pytest.mark.parametrize("code", [errno.EEXIST, errno.EPERM])
def test_a_tap_that_is_refused_is_not_requested_again(code: int) -> None:
    routes = SlowRoutes(code)
    with pytest.raises(netlink.NetlinkError):
        _add_tap(routes, "tap1", 1)
    assert routes.calls == 1
