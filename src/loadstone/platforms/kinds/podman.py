"""OCI containers by podman, on networks of ours. The image is one podman knows; `minimal` has our servers alone."""

import asyncio
import contextlib
import io
import shutil
import tarfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from loadstone.host import launch
from loadstone.host.process import Child, Readiness, begin, stop_all
from loadstone.host.programs import find_server
from loadstone.model.errors import PlatformError
from loadstone.model.machine import MINIMAL, SERVER, MachineSpec
from loadstone.model.target import Endpoint
from loadstone.platforms.cgroup import is_mixed
from loadstone.platforms.contract import Attachment, Machine, MachineContext, Service
from loadstone.platforms.fabric import may_make_networks
from loadstone.platforms.interfaces import list_addresses
from loadstone.platforms.kind import SEVERAL_LINES, PlatformKind
from loadstone.platforms.local import LocalMachine, claim

Json = dict[str, Any]

PODMAN_NAME = "podman"

PODMAN_SERVER = "/usr/local/bin/loadstone-server"
MOST = 8192
"""Open files and processes of a container; podman else asks for more than some hosts allow."""


@dataclass(frozen=True)
class PodmanService(Child):
    """A container that runs: podman's own process, and the one inside."""

    inner: int = 0

    @property
    def pid(self) -> int:
        """The container's first process, as the host sees it."""
        return self.inner


@dataclass
class PodmanMachine(LocalMachine):
    """One container for each program, all on one network namespace."""

    image: str = field(kw_only=True)

    @property
    def folder(self) -> Path | None:
        """None: the programs are its image's."""
        return None

    async def mount(self, source: Path | Endpoint, name: str) -> str:
        """No folder of anybody's: what it sees is fixed."""
        raise PlatformError(f"{self.name} cannot share folders. Use `platform=container`, or the store over HTTP.")

    async def start(self, role: str, command: list[str], readiness: Readiness = Readiness.LINE) -> Service:
        """Starts a container."""
        claim(self.services, role, self.name)
        called = f"{self.context.journal.name}-{role}"
        self.context.journal.note(
            "foreign", what=f"container {called}", undo="\0".join([*build_podman_command(), "rm", "-f", called])
        )
        program = [PODMAN_SERVER, *command[1:]] if command[0] == SERVER else command
        spec = self.context.spec
        argv = [*build_podman_command(), "run", "--rm", "-i", "--name", called, "--cpus", str(spec.cpus or 1)]
        argv += ["--memory", f"{spec.memory}m", "--ulimit", f"nofile={MOST}:{MOST}"]
        argv += ["--ulimit", f"nproc={MOST}:{MOST}"]
        argv += ["--network", f"ns:/run/netns/{next(iter(self.context.nics.values())).namespace}"]
        argv += ["-v", f"{find_server()}:{PODMAN_SERVER}:ro", "-v", f"{self.files}:{self.files}", self.image, *program]
        started = await begin(argv, self.context.logs / f"{role}.log", command, readiness)
        inner = 0
        with contextlib.suppress(PlatformError, ValueError):  # a short program may have ended
            inner = int(await _podman("inspect", "--format", "{{.State.Pid}}", called))
        self.services[role] = PodmanService(started.process, started.first_line, started.log, inner)
        return self.services[role]

    async def read_outside(self) -> Json | None:
        """CPU time of its programs that run, and its lines."""
        try:
            return {
                "cpu": {"process": sum(map(_cpu, self.list_running()))},
                "disk": {},
                "network": self.read_line_counters(),
                "exits": None,
            }
        except OSError:
            return None


def _cpu(pid: int) -> float:
    """CPU seconds of a process; none of one that has ended."""
    with contextlib.suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


def build_podman_command() -> list[str]:
    """Podman without systemd's help; by `runc` where it is: others refuse hosts that mix versions of control groups."""
    runtime = ["--runtime", "runc"] if shutil.which("runc") else []
    return ["podman", "--cgroup-manager=cgroupfs", *runtime]


async def _podman(*argv: str, standard_input: bytes | None = None) -> str:
    """Has podman do something; raises PlatformError with what it says when it fails."""
    process = await launch.start(
        *build_podman_command(),
        *argv,
        also=launch.OF_PODMAN,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await process.communicate(standard_input)
    if process.returncode != 0:
        raise PlatformError(f"`podman {argv[0]}` failed: {errors.decode(errors='replace').strip()[-400:]}")
    return out.decode().strip()


async def _image(name: str) -> str:
    """The image to run; `minimal` is made: a root with nothing in it but what is bound there."""
    if name != MINIMAL:
        return name
    tag = "localhost/loadstone-minimal:1"
    with contextlib.suppress(PlatformError):
        await _podman("image", "exists", tag)
        return tag
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for folder in ("usr/local/bin", "tmp", "etc"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
    await _podman("import", "-", tag, standard_input=archive.getvalue())
    return tag


class PodmanPlatform:
    """Makes containers by podman."""

    def choose_attachment(self, spec: MachineSpec) -> Attachment:
        """Returns the attachment by a link into the machine's namespace."""
        return Attachment.VETH

    async def explain_missing(self, spec: MachineSpec) -> str:
        """Returns what must be installed or allowed first, empty if nothing."""
        if shutil.which("podman") is None:
            return "Podman is not installed: `apt-get install podman`. The platform `container` works without it."
        if is_mixed() and shutil.which("runc") is None:
            return "This host mixes versions of control groups, which crun refuses: `apt-get install runc`."
        return "" if may_make_networks() else "Containers need root, for their networks."

    @asynccontextmanager
    async def start_machine(self, context: MachineContext) -> AsyncIterator[Machine]:
        """A machine for containers; all are gone when the block ends. Raises PlatformError."""
        started = time.monotonic()
        if not context.nics:
            raise PlatformError("A container needs its own network. Remove `network=user`.")
        spec = context.spec
        facts = {"platform": PODMAN_NAME, "cpus": spec.cpus or 1, "memory_mib": spec.memory, "image": spec.image}
        facts |= {"network": "bridge", "networks": list_addresses(context.nics), "link_mbit_per_s": spec.mbit_per_s}
        facts["podman"] = await _podman("version", "--format", "{{.Client.Version}}")
        machine = PodmanMachine(context, facts, image=await _image(spec.image))
        Path(machine.files).mkdir()
        facts["boot_s"] = round(time.monotonic() - started, 3)
        try:
            yield machine
        finally:
            await stop_all(machine.services)


KIND = PlatformKind(
    name=PODMAN_NAME,
    title="podman container",
    plural="podman containers",
    maker=PodmanPlatform(),
    fitting=SEVERAL_LINES | {"image"},
    keeps_cores=False,
    rank=30,
)
