"""The emulated host: its disks, and QEMU's command line. Its processor has SVM, so that its own KVM is real."""

import hashlib
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadstone.host import launch
from loadstone.host.cache import fill_cached, find_cache_folder
from loadstone.host.programs import FOLDER_VARIABLE
from loadstone.platforms.vm.image import Image, create_overlay, get_image
from loadstone.platforms.vm.kernel import PACKAGE
from tests.places import PROJECT

PACKAGES = ("python3", "qemu-system-x86", "qemu-utils", "cpio", "kmod", "iproute2", "procps")
PYTHON = "3.11"
"""The version in the root's distribution."""
NODE_MIB = 1792
NODES = 2
CORES_PER_NODE = 2
ROOT_MIB = 6144
DATA_MIB = 256
"""A block device for checks to write to."""
PAYLOAD_MIB = 4096
"""Space in the payload's disk beside its files: no state of a machine is saved with less than 1 GiB free."""
RESULTS = "results"
"""Folder of the payload for files of checks."""
MOUNT = "/srv"
"""Where the emulated host mounts the payload."""
CARDS = ("52:54:00:aa:00:01", "52:54:00:aa:00:02")
"""Two network cards on one cable: a machine gets the second, and the host reaches it by the first."""
TOOL_TIMEOUT_S = 1200.0


@dataclass(frozen=True)
class EmulatedHost:
    """The host's files, in one folder."""

    folder: Path
    image: Image

    @property
    def root(self) -> Path:
        """Its root disk, an overlay of the image's."""
        return self.folder / "root.qcow2"

    @property
    def payload(self) -> Path:
        """The disk with the product, the checks, and later the results."""
        return self.folder / "payload.ext4"

    @property
    def spare(self) -> Path:
        """The disk that checks write to."""
        return self.folder / "spare.raw"

    @property
    def console(self) -> Path:
        """All that its kernel and its programs print."""
        return self.folder / "console.log"

    @property
    def lines(self) -> Path:
        """The results of checks, a line each, as they end."""
        return self.folder / "results.jsonl"


def build(folder: Path, wheel: Path, checks: Sequence[str], has_sources: bool) -> EmulatedHost:
    """Builds the disks in a folder, for these checks or for all. `has_sources`: the package of src replaces the
    wheel's.
    """
    host = EmulatedHost(folder, get_image(f"debian+{'+'.join(PACKAGES)}"))
    assert host.image.root
    for file in (host.root, host.payload, host.spare, host.console, host.lines):
        file.unlink(missing_ok=True)
    create_overlay(host.image.root, host.root, ROOT_MIB)
    _build_payload(host, _site(wheel), checks, has_sources)
    with host.spare.open("wb") as spare:
        spare.truncate(DATA_MIB << 20)
    return host


def _site(wheel: Path) -> Path:
    """Returns a folder with the wheel and all that it needs, for the Python of the emulated host."""
    constraints = PROJECT / "constraints.txt"
    key = hashlib.sha256(wheel.read_bytes() + constraints.read_bytes()).hexdigest()[:16]

    def install(into: Path) -> None:
        argv = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(into)]
        argv += ["--python-version", PYTHON, "--only-binary", ":all:", "--constraint", str(constraints), str(wheel)]
        _run(argv)

    return fill_cached("kvm-trial", key, install)


def _build_payload(host: EmulatedHost, site: Path, checks: Sequence[str], has_sources: bool) -> None:
    """Fills a disk with the product, its cached kernel and the checks."""
    tree = host.folder / "payload"
    shutil.rmtree(tree, ignore_errors=True)
    (tree / "code" / "tests").mkdir(parents=True)
    (tree / RESULTS).mkdir()
    kernel = find_cache_folder() / f"kernel-{PACKAGE}"
    shutil.copytree(kernel, tree / "cache" / kernel.name, symlinks=True)
    _run(["cp", "--archive", str(site), str(tree / "site")])
    for name in ("__init__.py", "kvm"):
        _run(["cp", "--archive", str(PROJECT / "tests" / name), str(tree / "code" / "tests")])
    if has_sources:
        _run(["cp", "--archive", str(PROJECT / "src" / "loadstone"), str(tree / "code")])
    (tree / "checks").write_text(" ".join(checks))
    (tree / "init").write_text(_init_script(host.image.kernel_version))
    (tree / "init").chmod(0o755)
    used = sum(file.lstat().st_size for file in tree.rglob("*") if not file.is_symlink()) >> 20
    size = f"{used * 5 // 4 + PAYLOAD_MIB}M"
    _run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", str(tree), str(host.payload), size])
    shutil.rmtree(tree)


def _init_script(kernel_version: str) -> str:
    """Returns the first process of the emulated host: file systems, modules, checks, the end."""
    return f"""#!/bin/sh
# KVM's modules are left to the checks.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root PYTHONPATH={MOUNT}/code:{MOUNT}/site
export LOADSTONE_CACHE_DIR={MOUNT}/cache {FOLDER_VARIABLE}={MOUNT}/site/bin COLUMNS=160 PYTHONUNBUFFERED=1
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t debugfs debug /sys/kernel/debug
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t tmpfs tmp /run
mkdir -p /dev/shm /dev/pts /dev/hugepages /lib/modules
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount --bind {MOUNT}/cache/kernel-{PACKAGE}/lib/modules /lib/modules
for module in virtio_pci virtio_net tun bridge veth sch_tbf loop; do modprobe $module; done
ip link set lo up
hostname emulated
cd {MOUNT}/results
echo "emulated host: Linux {kernel_version}, $(nproc) cores"
python3 -m tests.kvm.inside $(cat {MOUNT}/checks) < /dev/null
cd /
sync
umount -l {MOUNT}
echo s > /proc/sysrq-trigger
echo u > /proc/sysrq-trigger
echo o > /proc/sysrq-trigger
sleep 60
"""


def command(host: EmulatedHost) -> list[str]:
    """Returns the command line of QEMU."""
    argv = ["qemu-system-x86_64", "-name", "kvm-trial", "-nodefaults", "-no-user-config", "-display", "none"]
    argv += ["-no-reboot", "-machine", "q35", "-accel", "tcg,thread=multi,tb-size=512", "-cpu", "EPYC,+svm"]
    argv += ["-device", "intel-iommu,intremap=on", "-device", "virtio-rng-pci"]
    argv += [*_nodes(), *_disks(host), *_cards(), *_serial_ports(host)]
    # The shell is the first process, since the root disk is the image's own.
    prepare = f"mount -t devtmpfs dev /dev; mount /dev/nvme0n2 {MOUNT}; exec {MOUNT}/init"
    line = "root=/dev/nvme0n1 rw console=ttyS0 panic=-1 intel_iommu=on quiet init=/bin/sh"
    return [*argv, "-kernel", str(host.image.kernel), "-append", f'{line} -- -c "{prepare}"']


def _nodes() -> list[str]:
    cores = NODES * CORES_PER_NODE
    argv = ["-smp", f"{cores},sockets={NODES},cores={CORES_PER_NODE}", "-m", f"{NODES * NODE_MIB}M"]
    for node in range(NODES):
        first = node * CORES_PER_NODE
        argv += ["-object", f"memory-backend-ram,id=node{node},size={NODE_MIB}M"]
        argv += ["-numa", f"node,nodeid={node},cpus={first}-{first + CORES_PER_NODE - 1},memdev=node{node}"]
    return argv


def _disks(host: EmulatedHost) -> list[str]:
    """Namespaces of one NVMe controller: the cloud kernel has its driver built in, and their names are certain."""
    argv = ["-device", "nvme,id=nvme,serial=trial"]
    for number, (file, kind) in enumerate(((host.root, "qcow2"), (host.payload, "raw"), (host.spare, "raw")), 1):
        argv += ["-drive", f"if=none,id=disk{number},file={file},format={kind},cache=unsafe"]
        argv += ["-device", f"nvme-ns,drive=disk{number},bus=nvme,nsid={number}"]
    return argv


def _cards() -> list[str]:
    """Cards behind ports of their own, so that each is an IOMMU group."""
    argv = []
    for number, mac in enumerate(CARDS, 1):
        argv += [
            "-netdev",
            f"hubport,id=cable{number},hubid=1",
            "-device",
            f"pcie-root-port,id=port{number},slot={number}",
        ]
        argv += ["-device", f"virtio-net-pci,bus=port{number},netdev=cable{number},mac={mac}"]
        argv[-1] += ",disable-legacy=on,iommu_platform=on"
    return argv


def _serial_ports(host: EmulatedHost) -> list[str]:
    argv = []
    for name, file in (("console", host.console), ("results", host.lines)):
        argv += ["-chardev", f"file,id={name},path={file}", "-serial", f"chardev:{name}"]
    return argv


def read_back(host: EmulatedHost, into: Path) -> None:
    """Copies the folder `results`, which the checks left on the payload's disk."""
    shutil.rmtree(into / RESULTS, ignore_errors=True)
    _run(["debugfs", "-R", f"rdump /{RESULTS} {into}", str(host.payload)])


def _run(argv: list[str]) -> None:
    done = launch.run(argv, timeout=TOOL_TIMEOUT_S)
    if done.returncode != 0:
        raise SystemExit(f"`{' '.join(argv[:4])}` failed with code {done.returncode}: {done.stderr[-800:]}")
