"""Container-like machines from what every Linux has: a network namespace, an overlay on the host's own root that is
gone with its processes, bubblewrap for process namespaces, a control group for limits. No image is needed.
"""

import asyncio
import shlex
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone.host.cores import on_cores
from loadstone.host.process import Readiness, begin, stop_all
from loadstone.host.programs import find_server
from loadstone.model.errors import PlatformError
from loadstone.model.machine import SERVER, MachineSpec
from loadstone.model.target import Endpoint
from loadstone.platforms.cgroup import Group, group, may_make_groups
from loadstone.platforms.contract import Attachment, Machine, MachineContext, Service
from loadstone.platforms.fabric import may_make_networks
from loadstone.platforms.interfaces import list_addresses
from loadstone.platforms.kind import SEVERAL_LINES, PlatformKind
from loadstone.platforms.local import LocalMachine, claim

Json = dict[str, Any]

CONTAINER_NAME = "container"

CONTAINER_SERVER = "/usr/local/bin/loadstone-server"
"""Where our servers are in a container."""


@dataclass
class Container(LocalMachine):
    """A container that is up."""

    limits: Group = field(kw_only=True)
    mounted: list[str] = field(default_factory=list)
    """Folders of the host that its programs see as well."""
    exposed: list[str] = field(default_factory=list)
    """Folders of the host that its programs may only read."""

    async def start(self, role: str, command: list[str], readiness: Readiness = Readiness.LINE) -> Service:
        """Starts a program in the container."""
        claim(self.services, role, self.name)
        started = await begin(self._argv(command), self.context.logs / f"{role}.log", command, readiness)
        self.services[role] = started
        self.context.journal.note_process(started.pid, f"{role} in container {self.name}")
        return started

    async def mount(self, source: Path | Endpoint, name: str) -> str:
        """A folder of this host, by a bind mount."""
        self.mounted.append(await super().mount(source, name))
        return self.mounted[-1]

    async def expose(self, folder: Path) -> str:
        """A folder of this host, by a bind mount that cannot be written to."""
        self.exposed.append(await super().expose(folder))
        return self.exposed[-1]

    def _argv(self, command: list[str]) -> list[str]:
        """Enters the group and the network, lays an overlay over the root in a mount namespace, and walls it off."""
        scratch = self.context.journal.folder / f"{self.name}-scratch"
        scratch.mkdir(exist_ok=True)
        program = [CONTAINER_SERVER, *command[1:]] if command[0] == SERVER else command
        wall = ["bwrap", "--bind", f"{scratch}/root", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
        for folder in (self.files, *self.mounted):
            wall += ["--bind", folder, folder]
        for folder in self.exposed:
            wall += ["--ro-bind", folder, folder]
        wall += ["--ro-bind", find_server(), CONTAINER_SERVER]
        # Programs that fit themselves to their limits, as Java does, look for those of their group there.
        wall += ["--ro-bind", "/sys", "/sys"]
        wall += [f"--unshare-{kind}" for kind in ("pid", "ipc", "uts")]
        wall += ["--die-with-parent"]
        upper, work, root = (f"{scratch}/{name}" for name in ("upper", "work", "root"))
        layers = f"lowerdir=/,upperdir={upper},workdir={work}"
        steps = [
            self.limits.joining,
            shlex.join(["mount", "-t", "tmpfs", "tmpfs", str(scratch)]),
            shlex.join(["mkdir", upper, work, root]),
            shlex.join(["mount", "-t", "overlay", "overlay", "-o", layers, root]),
            f"exec {shlex.join([*wall, '--', *program])}",
        ]
        pin = self.context.spec.pin
        outside = [
            *(on_cores(pin) if pin else ()),
            "nsenter",
            f"--net=/run/netns/{next(iter(self.context.nics.values())).namespace}",
        ]
        return [*outside, "unshare", "--mount", "--propagation", "private", "sh", "-c", " && ".join(steps)]

    async def read_outside(self) -> Json | None:
        """CPU time of its group, and its lines."""
        try:
            return {
                "cpu": {"group": self.limits.read_cpu_seconds()},
                "disk": {},
                "network": self.read_line_counters(),
                "exits": None,
            }
        except OSError:
            return None


class ContainerPlatform:
    """Makes containers."""

    def choose_attachment(self, spec: MachineSpec) -> Attachment:
        """Returns the attachment by a link into the machine's namespace."""
        return Attachment.VETH

    async def explain_missing(self, spec: MachineSpec) -> str:
        """Returns what must be installed or allowed first, empty if nothing."""
        needs = {"bwrap": "bubblewrap", "nsenter": "util-linux", "unshare": "util-linux"}
        absent = sorted({package for tool, package in needs.items() if shutil.which(tool) is None})
        if absent:
            return f"Containers need {', '.join(absent)}: `apt-get install {' '.join(absent)}`."
        if not (may_make_networks() and may_make_groups()):
            return "Containers need root, for their networks and control groups."
        return ""

    @asynccontextmanager
    async def start_machine(self, context: MachineContext) -> AsyncIterator[Machine]:
        """A container; all in it is gone when the block ends. Raises PlatformError."""
        started = time.monotonic()
        if not context.nics:
            raise PlatformError("A container needs its own network. Remove `network=user`.")
        if set(",:") & set(str(context.journal.folder)):
            raise PlatformError(
                f"An overlay is not possible in {context.journal.folder}. Set LOADSTONE_RUNTIME_DIR to another folder."
            )
        spec = context.spec
        cpus = spec.cpus or 1
        limits = await asyncio.to_thread(group, context.journal, context.name, cpus, spec.memory)
        facts = {"platform": CONTAINER_NAME, "cpus": cpus, "memory_mib": spec.memory, "network": "bridge"}
        facts["link_mbit_per_s"] = spec.mbit_per_s
        facts |= {"networks": list_addresses(context.nics), "boot_s": round(time.monotonic() - started, 3)}
        container = Container(context, facts, limits=limits)
        Path(container.files).mkdir()
        try:
            yield container
        finally:
            await stop_all(container.services)
            await asyncio.to_thread(limits.remove)


KIND = PlatformKind(
    name=CONTAINER_NAME,
    title="container",
    plural="containers",
    maker=ContainerPlatform(),
    fitting=SEVERAL_LINES | {"pin"},
    rank=20,
)
