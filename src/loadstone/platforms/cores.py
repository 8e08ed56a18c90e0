"""Which cores of this host a declared machine is kept on."""

from loadstone.host.cores import list_first_cores, read_core_list
from loadstone.model.machine import MachineSpec
from loadstone.platforms.registry import get_platform_kind


def list_taken_cores(spec: MachineSpec) -> set[int]:
    """Cores of this host that a machine is kept on; none where it may use all. Raises PlatformError."""
    if spec.pin is not None:
        return {core for turn in spec.pin.split("/") for core in read_core_list(turn)}
    is_kept = spec.cpus is not None and get_platform_kind(spec.platform).shares_host
    return {int(core) for core in list_first_cores(spec.cpus or 1).split(",")} if is_kept else set()
