"""The kernel of virtual machines: Debian's for clouds, taken out of its package without installing it."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from loadstone.host import launch
from loadstone.host.cache import cached, digest
from loadstone.model.errors import PlatformError

PACKAGE = "linux-image-cloud-amd64"
"""A name for the newest of its kind; the package it stands for has the kernel."""
MODULES = ("virtio_pci", "virtio_net", "vmxnet3", "virtio_blk", "virtio_console", "virtio-rng")
"""What a machine needs besides what is built in."""
NFS_MODULES = ("nfsv4",)
"""What one needs besides that which mounts folders of others (loaded where the kernel's command line says so)."""
BUILD_TOOL_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Kernel:
    """A kernel and its modules, unpacked."""

    version: str
    image: Path
    modules: tuple[Path, ...]
    """In the order in which they can be loaded."""
    nfs_modules: tuple[Path, ...]
    """The same, of what is only loaded for NFS."""
    digest: str


def kernel() -> Kernel:
    """The kernel; fetched from the distribution's archive the first time. Raises PlatformError."""
    folder = cached("kernel", PACKAGE, _fetch)
    image = next(folder.glob("boot/vmlinuz-*"))
    version = image.name.removeprefix("vmlinuz-")
    base = _ordered(folder, version, MODULES)
    nfs = tuple(module for module in _ordered(folder, version, NFS_MODULES) if module not in base)
    return Kernel(version, image, base, nfs, digest(image.read_bytes()))


def _fetch(folder: Path) -> None:
    depends = _tool(["apt-cache", "depends", "--important", PACKAGE], folder)
    names = [line.partition("Depends:")[2].strip() for line in depends.splitlines() if "Depends:" in line]
    if not names:
        remedy = "Run `apt-get update`; other distributions: not supported yet."
        raise PlatformError(f"The package {PACKAGE} is not known here. {remedy}")
    _tool(["apt-get", "download", names[0]], folder)
    (package,) = folder.glob("*.deb")
    _tool(["dpkg-deb", "-x", package.name, "."], folder)
    package.unlink()
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
