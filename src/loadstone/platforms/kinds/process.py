"""The plain machine: child processes of this one, each with its own session, whose end takes all it started along."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from loadstone.host.cores import list_first_cores, on_cores
from loadstone.host.process import Readiness, begin, stop_all
from loadstone.host.programs import resolve_command
from loadstone.model.errors import PlatformError
from loadstone.model.machine import PROCESS, MachineSpec
from loadstone.model.reading import Section
from loadstone.platforms.cgroup import Group, create_account, make_memory_group
from loadstone.platforms.contract import Attachment, Machine, MachineContext, Service
from loadstone.platforms.cores import list_taken_cores
from loadstone.platforms.kind import PlatformKind, get_own_settings
from loadstone.platforms.local import LocalMachine, claim, refuse_line_speed

Json = dict[str, Any]


@dataclass
class ProcessMachine(LocalMachine):
    """This machine itself, or some of its cores."""

    wrapper: list[str] = field(default_factory=list)
    """Words before every command."""
    cores: set[int] = field(default_factory=set)
    """That it is kept on; none where it may use all."""
    groups: list[Group] = field(default_factory=list)
    memory_group: Group | None = None
    """Limits the memory of all its programs together, where that is declared."""

    async def start(self, role: str, command: list[str], readiness: Readiness = Readiness.LINE) -> Service:
        """Starts a child process."""
        claim(self.services, role, self.name)
        argv = [*self._joining(role), *self.wrapper, *resolve_command(command)]
        started = await begin(argv, self.context.logs / f"{role}.log", command, readiness)
        self.services[role] = started
        self.context.journal.note_process(started.pid, role)
        return started

    def _joining(self, role: str) -> list[str]:
        """Returns the command through which a program enters its control groups: one of its own, where there may be
        one, and that of the machine's memory.
        """
        name = re.sub("[^a-z0-9]+", "-", f"{self.name} {role}".lower())
        group = create_account(self.context.journal, name, self.cores)
        self.groups += [group] if group else []
        entered = [joined.joining for joined in (group, self.memory_group) if joined is not None]
        return ["sh", "-c", f'{" && ".join(entered)} && exec "$@"', "join"] if entered else []

    async def remove_groups(self) -> None:
        """Once nothing runs any more."""
        for group in self.groups:
            await asyncio.to_thread(group.remove)


class ProcessSettings(Section):
    """Settings of processes of this machine."""

    memory_limit: Annotated[int, Field(ge=64, le=1 << 22)] | None = Field(
        default=None, description="most memory of all its programs together, in MiB, 64 or more"
    )


class ProcessPlatform:
    """Makes processes of this machine."""

    def choose_attachment(self, spec: MachineSpec) -> Attachment:
        """Returns the attachment to the host's own network."""
        refuse_line_speed(spec, "A process uses the host's own network")
        return Attachment.NONE

    async def explain_missing(self, spec: MachineSpec) -> str:
        """Nothing, but cores that are not there."""
        try:
            list_first_cores(spec.cpus or 1)
        except PlatformError as error:
            return str(error)
        return ""

    @asynccontextmanager
    async def start_machine(self, context: MachineContext) -> AsyncIterator[Machine]:
        """This machine; its services are gone when the block ends."""
        wrapper = _wrapper(context.spec)
        cores = list_taken_cores(context.spec)
        machine = ProcessMachine(context, {"cores": wrapper[2] if wrapper else "all"}, wrapper=wrapper, cores=cores)
        limit_mib = get_own_settings(context.spec, ProcessSettings).memory_limit
        if limit_mib:
            machine.memory_group = make_memory_group(context.journal, f"{context.name}-memory", limit_mib)
            machine.groups.append(machine.memory_group)
            machine.facts["memory_limit_mib"] = limit_mib
        Path(machine.files).mkdir()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(machine.remove_groups)
            stack.push_async_callback(stop_all, machine.services)
            yield machine


def _wrapper(spec: MachineSpec) -> list[str]:
    """Keeps commands on the declared cores: those named, or the first so many."""
    if spec.pin is not None:
        return on_cores(spec.pin)
    return ["taskset", "--cpu-list", list_first_cores(spec.cpus)] if spec.cpus else []


KIND = PlatformKind(
    name=PROCESS,
    title="process",
    plural="processes",
    maker=ProcessPlatform(),
    fitting=frozenset({"pin"}),
    settings_section=ProcessSettings,
    shares_host=True,
    rank=10,
)
