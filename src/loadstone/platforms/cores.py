"""Which cores of this host a declared machine is kept on."""

from loadstone.host.cores import core_list, first_cores
from loadstone.model.machine import MachineSpec
from loadstone.platforms.registry import platform_kind


def cores_taken(spec: MachineSpec) -> set[int]:
    """Cores of this host that a machine is kept on; none where it may use all. Raises PlatformError."""
    if spec.pin is not None:
        return {core for turn in spec.pin.split("/") for core in core_list(turn)}
    is_kept = spec.cpus is not None and platform_kind(spec.platform).shares_host
    return {int(core) for core in first_cores(spec.cpus or 1).split(",")} if is_kept else set()
