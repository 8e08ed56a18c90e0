"""The kernel of virtual machines: Debian's, taken out of its package without installing it."""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from loadstone.host import launch
from loadstone.host.cache import compute_digest, fill_cached
from loadstone.model.errors import PlatformError
from loadstone.platforms.vm.settings import KernelFlavour

PACKAGE = "linux-image-cloud-amd64"
KERNEL_PACKAGES = {KernelFlavour.CLOUD: PACKAGE, KernelFlavour.GENERIC: "linux-image-amd64"}
"""Names of the newest of their kind; the package that each depends on has the kernel."""
KERNEL_MODULES = (
    *("virtio_pci", "virtio_net", "vmxnet3", "virtio_blk", "virtio_console", "virtio-rng"),
    *("crc32c_generic", "ext4"),
)
"""Modules that every machine loads, as far as they are not built in."""
MODULE_LISTS = {
    "nfs": ("nfsv4",),
    "scsi": ("virtio_scsi", "sd_mod"),
    "nvme": ("nvme",),
    "e1000": ("e1000",),
    "cards": ("e1000e", "igb", "igbvf", "ixgbevf", "iavf"),
}
"""Further modules by the name of their list; a machine loads the lists that its kernel's arguments name."""
BUILD_TOOL_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Kernel:
    """A kernel and its modules, unpacked."""

    version: str
    image: Path
    modules: tuple[Path, ...]
    """In the order in which they can be loaded."""
    module_lists: Mapping[str, tuple[Path, ...]]
    """Further modules by list, in the same order."""
    digest: str


def get_kernel(flavour: KernelFlavour = KernelFlavour.CLOUD) -> Kernel:
    """Returns the kernel, which is downloaded from the distribution's archive the first time. Raises PlatformError."""
    package = KERNEL_PACKAGES[flavour]
    folder = fill_cached("kernel", package, lambda into: _fetch(into, package))
    image = next(folder.glob("boot/vmlinuz-*"))
    version = image.name.removeprefix("vmlinuz-")
    base = _ordered(folder, version, KERNEL_MODULES)
    lists = {
        name: tuple(module for module in _ordered(folder, version, modules) if module not in base)
        for name, modules in MODULE_LISTS.items()
    }
    return Kernel(version, image, base, lists, compute_digest(image.read_bytes()))


def _fetch(folder: Path, package: str) -> None:
    depends = _tool(["apt-cache", "depends", "--important", package], folder)
    names = [line.partition("Depends:")[2].strip() for line in depends.splitlines() if "Depends:" in line]
    if not names:
        remedy = "Run `apt-get update`; other distributions: not supported yet."
        raise PlatformError(f"The package {package} is not known here. {remedy}")
    _tool(["apt-get", "download", names[0]], folder)
    (archive,) = folder.glob("*.deb")
    _tool(["dpkg-deb", "-x", archive.name, "."], folder)
    archive.unlink()
    version = next(folder.glob("boot/vmlinuz-*")).name.removeprefix("vmlinuz-")
    _tool(["depmod", "-b", ".", version], folder)
    for spare in ("usr", "etc"):
        shutil.rmtree(folder / spare, ignore_errors=True)


def _ordered(folder: Path, version: str, names: tuple[str, ...]) -> tuple[Path, ...]:
    """The files of modules, each after those it depends on (modules.dep names the first to load last)."""
    base = folder / "lib" / "modules" / version
    needs = {
        line.partition(":")[0]: line.partition(":")[2].split()
        for line in (base / "modules.dep").read_text().split("\n")
    }
    by_name = {Path(path).name.partition(".")[0]: path for path in needs}
    order: list[str] = []
    for name in names:
        path = by_name.get(name)
        if path is not None:
            order += [module for module in [*reversed(needs[path]), path] if module not in order]
    return tuple(base / path for path in order)


def _tool(command: list[str], folder: Path) -> str:
    return run_tool(command, folder, "Install it: `apt-get install apt dpkg kmod`.")


def run_tool(command: list[str], folder: Path, remedy: str, seconds: float = BUILD_TOOL_TIMEOUT_S) -> str:
    """Runs a tool of the system in a folder and returns what it wrote; raises PlatformError."""
    try:
        done = launch.run(command, cwd=folder, timeout=seconds)
    except FileNotFoundError:
        raise PlatformError(f"There is no `{command[0]}` here. {remedy}") from None
    except subprocess.TimeoutExpired:
        raise PlatformError(f"`{' '.join(command[:3])}` did not end within {seconds:g} s.") from None
    if done.returncode != 0:
        message = (done.stderr or done.stdout).strip()[-500:]
        raise PlatformError(f"`{' '.join(command[:3])}` failed with code {done.returncode}: {message}")
    return done.stdout
