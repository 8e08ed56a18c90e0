"""One folder of a machine that others mount for its files: where all run on this host's kernel by bind mounts, else
over NFS.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType

from loadstone.host.process import Readiness
from loadstone.model.errors import UsageError
from loadstone.model.machine import SERVER, MachineSpec
from loadstone.model.program_settings import SettingsByProgram
from loadstone.model.service import ServiceRole
from loadstone.platforms.contract import Machine
from loadstone.platforms.registry import get_platform_kind
from loadstone.services.kind import ServiceKind
from loadstone.services.kinds.nfs import NFS_NAME, SHARED_FOLDER
from loadstone.services.registry import get_service_kind
from loadstone.services.sites import build_file_command
from loadstone.testbed.kept_files import keep_files
from loadstone.testbed.running import Running, wait_until_done
from loadstone.testbed.software import with_software
from loadstone.testbed.start import build_site_on, route, start_service
from loadstone.topologies import events
from loadstone.topologies.topology import Topology

NFS_SERVICE = "nfs"
NO_SETTINGS: SettingsByProgram = MappingProxyType({})
CLIENT = {"/sbin/mount.nfs4": "nfs-common"}
"""What a machine needs that mounts folders of others."""


def has_images(spec: MachineSpec) -> bool:
    """Whether machines of its platform have files and programs of their own."""
    return "image" in get_platform_kind(spec.platform).fitting


def add_mounting(kind: ServiceKind, spec: MachineSpec) -> ServiceKind:
    """A service on such a machine, with what it needs to mount the folder."""
    return replace(kind, needs={**kind.needs, **CLIENT}) if has_images(spec) else kind


def add_sharing(spec: MachineSpec, front: MachineSpec, declared: MachineSpec) -> MachineSpec:
    """The machine that has the folder, with the programs to share it where that takes any."""
    if not (has_images(spec) or has_images(front)):
        return spec
    return with_software(spec, get_service_kind(ServiceRole.STORE, NFS_SERVICE), declared=declared)


def describe_way(*specs: MachineSpec) -> str:
    """How such machines reach the folder of one of them, in words."""
    return "over NFSv4.1" if any(map(has_images, specs)) else "by bind mounts on one kernel"


def refuse_nfs_settings(settings: SettingsByProgram, *specs: MachineSpec) -> None:
    """Raises UsageError for settings of the NFS server where such machines share a folder without it."""
    if settings.get(NFS_NAME) and not any(map(has_images, specs)):
        raise UsageError(
            f"`{NFS_NAME}` cannot be set: these machines have one kernel and share the folder by bind mounts. Use "
            "--platform vm, or leave the setting out."
        )


async def share_folder(
    running: Running,
    machine: Machine,
    fronts: Sequence[Machine],
    topology: Topology = events.TOPOLOGY,
    settings: SettingsByProgram = NO_SETTINGS,
) -> dict[str, str]:
    """Fills the folder with what the topology has for it and mounts it on all fronts; where it is there, by machine.
    File sets are kept, and read where they are, if all files are on this host. The settings are those of the server
    that shares it over NFS.
    """
    is_on_host = machine.folder is not None and all(front.folder is not None for front in fronts)
    if topology.shared_file_sets and is_on_host:
        folder = await running.base.stack.enter_async_context(keep_files(topology.shared_file_sets, running.base.logs))
        return {front.name: await front.expose(folder) for front in fronts}
    for number, command in enumerate(_filling(topology, f"{machine.files}/{SHARED_FOLDER}")):
        filling = await machine.start(f"{machine.name}-fill-{number}", command, Readiness.NONE)
        await wait_until_done(filling, "The shared folder")
    if machine.folder is not None and is_on_host:
        return {front.name: await front.mount(machine.folder / SHARED_FOLDER, SHARED_FOLDER) for front in fronts}
    site = replace(build_site_on(machine), settings=settings)
    store = await start_service(running, machine, get_service_kind(ServiceRole.STORE, NFS_SERVICE), site)
    return {front.name: await front.mount(await route(front, machine, store.port), SHARED_FOLDER) for front in fronts}


def _filling(topology: Topology, folder: str) -> Iterator[list[str]]:
    """Commands that write the files of the shared folder."""
    if topology.shared_files:
        yield [SERVER, *topology.shared_files, folder]
    for name, sessions in topology.shared_file_sets.items():
        yield build_file_command(name, sessions, folder)
