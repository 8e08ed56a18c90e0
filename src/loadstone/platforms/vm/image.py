"""Guest images, made without mounting anything, kept by what they were made from.

`minimal` is a kernel and an initial file system with our server alone, which is also the agent; a disk for what
services keep may be added. `debian` adds a root disk with a distribution's packages. Every machine writes to an overlay
of its own.
"""

import hashlib
import os
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

from loadstone.host import launch
from loadstone.host.cache import compute_digest, fill_cached
from loadstone.host.programs import find_standalone_server
from loadstone.model.errors import PlatformError
from loadstone.model.machine import DEBIAN, MINIMAL, MachineSpec
from loadstone.platforms.vm.kernel import Kernel, get_kernel, run_tool
from loadstone.platforms.vm.settings import DiskFormat, KernelFlavour

RECIPE = b"3"
"""Changes when images are made in another way."""
SUITE = "bookworm"
PACKAGES = ("nginx-light",)
"""What every `debian` machine has; its name adds others."""
QCOW2_SIZE_END = 32
"""End of the virtual size in the header of a qcow2 file, a big-endian number of eight bytes (docs/interop/qcow2.txt of
QEMU).
"""
SPARE_MIB = 512
"""Free space on a root disk as made; `disk` asks for more."""
FIXED = ("SOURCE_DATE_EPOCH=0", "E2FSPROGS_FAKE_TIME=1")
"""So that the same packages make the same root (reproducible-builds.org)."""
NFS_IMAGE, NFS_PACKAGE = "nfs", "nfs-common"
"""List of modules that machines with this package load."""
IDENTITY = "6c6f6164-7374-6f6e-8000-000000000000"
CONTENT = "content"
"""File with the root's check sum."""
QCOW2_SIZE = slice(24, 32)
"""Bytes of a qcow2 header with the size of its disk, big endian (QEMU, docs/interop/qcow2.txt)."""
SPARED = "/usr/share/{doc,locale,man,i18n}/*"
BUILD_S = 1200.0
LEAST_DATA_MIB = 64
"""Size of the file system that is written to a device, before it grows to the device."""
WIPEFS = "Install it: `apt-get install util-linux`."
IMAGE_TOOLS_REMEDY = "Install the image tools: `apt-get install mmdebstrap e2fsprogs qemu-utils`."


@dataclass(frozen=True)
class Image:
    """What a machine is booted from."""

    name: str
    digest: str
    kernel: Path
    kernel_version: str
    initial: Path
    """Its first file system."""
    root: Path | None = None
    """Its root disk, which is never written to."""

    def list_boot_arguments(self, kernel_line: str) -> list[str]:
        """Returns QEMU's arguments to boot it with a command line of the kernel."""
        return ["-kernel", str(self.kernel), "-initrd", str(self.initial), "-append", kernel_line]


def get_image(name: str, flavour: KernelFlavour = KernelFlavour.CLOUD) -> Image:
    """Returns an image by name, which is built the first time; raises PlatformError."""
    base = make_minimal(flavour)
    if name == MINIMAL:
        return base
    packages = list_packages(name)
    key = compute_digest(RECIPE, SUITE.encode(), " ".join(packages).encode())
    folder = fill_cached("debian", key, lambda into: _make_root(into, packages))
    content = (folder / CONTENT).read_text()
    return Image(
        name, f"{base.digest}+{content}", base.kernel, base.kernel_version, base.initial, folder / "root.qcow2"
    )


def make_minimal(flavour: KernelFlavour = KernelFlavour.CLOUD) -> Image:
    """Returns the image of a kernel and our server as the first process."""
    program, system = Path(find_standalone_server()), get_kernel(flavour)
    lists = {"order": system.modules, **system.module_lists}
    names = " ".join(f"{name}/{module.name}" for name, modules in lists.items() for module in modules)
    key = compute_digest(RECIPE, program.read_bytes(), system.digest.encode(), names.encode())
    folder = fill_cached("minimal", key, lambda into: _make_initial(into, program, system))
    return Image(MINIMAL, key, system.image, system.version, folder / "initial.cpio")


def list_packages(name: str) -> tuple[str, ...]:
    """Packages of a `debian` image; raises PlatformError for another name."""
    first, *others = name.split("+")
    if first != DEBIAN:
        remedy = f"Use `{MINIMAL}`, `{DEBIAN}` or `{DEBIAN}+PACKAGE+PACKAGE`."
        raise PlatformError(f"There is no image `{name}`. {remedy}")
    return tuple(sorted({*PACKAGES, *filter(None, others)}))


def _make_initial(folder: Path, program: Path, system: Kernel) -> None:
    tree = folder / "tree"
    (tree / "modules").mkdir(parents=True)
    for name in ("dev", "proc", "sys", "tmp", "run"):
        (tree / name).mkdir()
    _strip(program, tree / "init")
    for order, modules in {"order": system.modules, **system.module_lists}.items():
        for module in modules:
            shutil.copyfile(module, tree / "modules" / module.name)
        (tree / "modules" / order).write_text("".join(f"{module.name}\n" for module in modules))
    names = sorted(str(path.relative_to(tree)) for path in tree.rglob("*"))
    for name in names:
        os.utime(tree / name, (0, 0))
    argv = ["cpio", "--create", "--format=newc", "--reproducible", "--owner=0:0", "--quiet"]
    try:
        with (folder / "initial.cpio").open("wb") as out:
            done = launch.run(argv, cwd=tree, input="\n".join(names), stdout=out, stderr=None)
    except FileNotFoundError:
        raise PlatformError("`cpio` is not installed. Run `apt-get install cpio`.") from None
    if done.returncode != 0:
        raise PlatformError(f"`cpio` failed with code {done.returncode}. Check that there is free space.")
    shutil.rmtree(tree)


def _strip(program: Path, into: Path) -> None:
    """A copy without what debuggers and profilers need: a third of the size."""
    if shutil.which("strip"):
        run_tool(["strip", "--strip-all", "-o", str(into), str(program)], into.parent, "")
    else:
        shutil.copyfile(program, into)
    into.chmod(0o755)


def _make_root(folder: Path, packages: tuple[str, ...]) -> None:
    """A root disk by mmdebstrap and mke2fs: no loop device, no mount."""
    argv = ["mmdebstrap", "--variant=minbase", f"--include={','.join(packages)}"]
    argv += [f"--dpkgopt=path-exclude={SPARED}", SUITE, "root.tar"]
    run_tool(["env", *FIXED, *argv], folder, IMAGE_TOOLS_REMEDY, BUILD_S)
    tree = folder / "tree"
    with tarfile.open(folder / "root.tar") as archive:
        archive.extractall(tree, filter="fully_trusted")
    used = sum(file.lstat().st_size for file in tree.rglob("*") if not file.is_symlink()) >> 20
    size = f"{used * 5 // 4 + SPARE_MIB}M"
    argv = ["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-U", IDENTITY, "-E", f"hash_seed={IDENTITY}"]
    run_tool(["env", *FIXED, *argv, "-d", "tree", "root.ext4", size], folder, IMAGE_TOOLS_REMEDY)
    with (folder / "root.tar").open("rb") as root_tar:
        (folder / CONTENT).write_text(hashlib.file_digest(root_tar, "sha256").hexdigest()[:16])
    run_tool(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", "root.ext4", "root.qcow2"], folder, IMAGE_TOOLS_REMEDY)
    shutil.rmtree(tree)
    for spare in ("root.tar", "root.ext4"):
        (folder / spare).unlink()


def _make_data(folder: Path, size_mib: int) -> None:
    """An empty disk with a journal."""
    argv = ["mke2fs", "-q", "-t", "ext4", "-U", IDENTITY, "-E", f"hash_seed={IDENTITY}"]
    run_tool(["env", *FIXED, *argv, "data.ext4", f"{size_mib}M"], folder, IMAGE_TOOLS_REMEDY)
    run_tool(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", "data.ext4", "data.qcow2"], folder, IMAGE_TOOLS_REMEDY)
    (folder / "data.ext4").unlink()


def create_disk(image: Image, spec: MachineSpec, into: Path) -> Path | None:
    """Builds the disk of one machine as an overlay: its root, or one for files of services where the image has no root
    and a disk is requested. Returns None without a disk. Raises PlatformError.
    """
    if image.root is not None:
        create_overlay(image.root, into, compute_disk_mib(image, spec.disk))
        return into
    if not spec.disk:
        return None
    create_overlay(_data_disk(spec.disk), into, 0)
    return into


def compute_disk_mib(image: Image, requested_mib: int) -> int:
    """Returns the size of a machine's disk in MiB, 0 for none: as requested, else that of the image's root disk. Raises
    PlatformError where the root does not fit.
    """
    if image.root is None:
        return requested_mib
    with image.root.open("rb") as file:
        root_mib = int.from_bytes(file.read(QCOW2_SIZE.stop)[QCOW2_SIZE], "big") >> 20
    if requested_mib and requested_mib < root_mib:
        raise PlatformError(
            f"`disk={requested_mib}` is too small for the image `{image.name}`, whose files take a disk of {root_mib} "
            f"MiB. Use `disk={root_mib}` or more, or leave `disk` out."
        )
    return requested_mib or root_mib


def write_raw_disk(image: Image, size_mib: int, into: Path) -> None:
    """Writes a disk as a plain file: the image's root, or an empty file system where it has none. The machine grows the
    file system to the disk when it mounts it. Raises PlatformError.
    """
    source = image.root or _data_disk(size_mib)
    _convert_to_raw(source, into)
    os.truncate(into, size_mib << 20)


def _convert_to_raw(source: Path, into: Path, *options: str) -> None:
    argv = ["qemu-img", "convert", *options, "-f", "qcow2", "-O", "raw", str(source), str(into)]
    run_tool(argv, into.parent, IMAGE_TOOLS_REMEDY)


def write_device(image: Image, size_mib: int, device: Path) -> None:
    """Writes the image's root, or an empty file system where it has none, to a block device. The machine grows the file
    system to the device when it mounts it. Raises PlatformError where the device has other content, or is too small.
    """
    _refuse_foreign_content(device)
    source = image.root or _data_disk(size_mib or LEAST_DATA_MIB)
    _convert_to_raw(source, device, "-n")


def _refuse_foreign_content(device: Path) -> None:
    """Raises PlatformError where a device has content that this program did not write: file systems that it writes have
    one identity (wipefs(8)).
    """
    listed = run_tool(["wipefs", "--noheadings", "--output", "TYPE,UUID", str(device)], device.parent, WIPEFS)
    foreign = [line.split()[0] for line in listed.splitlines() if line.strip() and IDENTITY not in line]
    if foreign:
        raise PlatformError(
            f"{device} has content ({', '.join(foreign)}), which would be lost. Use an empty device, or remove its "
            f"content: `wipefs --all {device}`."
        )


def create_data_disk(size_mib: int, form: DiskFormat, into: Path) -> Path:
    """Creates an empty second disk, and returns its file. Raises PlatformError."""
    file = into.with_name(f"{into.name}-data.{form}")
    if form is DiskFormat.QCOW2:
        create_overlay(_data_disk(size_mib), file, 0)
        return file
    _convert_to_raw(_data_disk(size_mib), file)
    return file


def _data_disk(size_mib: int) -> Path:
    return (
        fill_cached("data", f"{compute_digest(RECIPE)}-{size_mib}", lambda into: _make_data(into, size_mib))
        / "data.qcow2"
    )


def create_overlay(base: Path, into: Path, size_mib: int) -> None:
    """Creates a disk that holds what is written to it and reads all else from `base`, of at least the size of `base`: a
    shorter disk would cut its file system. Raises PlatformError.
    """
    argv = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", str(base), str(into)]
    size = [f"{size_mib}M"] if size_mib << 20 > read_disk_size(base) else []
    run_tool([*argv, *size], into.parent, "Install it: `apt-get install qemu-utils`.")


def read_disk_size(file: Path) -> int:
    """Returns the bytes that a qcow2 disk has for its machine, from its header."""
    with file.open("rb") as disk:
        header = disk.read(QCOW2_SIZE_END)
    return int.from_bytes(header[QCOW2_SIZE_END - 8 :], "big")


def explain_unknown_image(name: str) -> str:
    """Returns why an image's name is not valid, empty if it is valid."""
    try:
        list_packages(name if name != MINIMAL else DEBIAN)
    except PlatformError as error:
        return str(error)
    return ""
