"""The share of the host that QEMU's process has: network namespace, control group, nice value, locked memory."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from loadstone.host.cores import read_core_list
from loadstone.platforms.cgroup import Group, make_weighted_group
from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.vm.settings import HostSettings

PROCESSES_FOLDER = Path("/proc")


def make_share_group(journal: ResourceJournal, name: str, settings: HostSettings) -> Group | None:
    """Returns a control group with the machine's weights; None without weights. Raises PlatformError."""
    if settings.cpu_weight is None and settings.io_weight is None:
        return None
    return make_weighted_group(journal, name, settings.cpu_weight, settings.io_weight)


def make_launch_prefix(
    settings: HostSettings, nics: Sequence[NetworkInterface], group: Group | None, locks_memory: bool
) -> list[str]:
    """Returns the commands through which QEMU is started. Pure. The kernel pins all memory of a machine with a passed
    card, also after QEMU has become another user, who may lock little.
    """
    argv = ["sh", "-c", f'{group.joining} && exec "$@"', "join"] if group else []
    argv += ["nice", "-n", str(settings.nice)] if settings.nice else []
    argv += ["prlimit", "--memlock=unlimited"] if locks_memory else []
    return [*argv, "nsenter", f"--net=/run/netns/{nics[0].namespace}"] if nics else argv


def find_vhost_threads(pid: int, processes: Path = PROCESSES_FOLDER) -> list[int]:
    """Returns the threads by which the kernel moves the packets of a process. They are its own since Linux 6.4, and
    kernel threads before.
    """
    name = f"vhost-{pid}"
    tasks = [*(processes / str(pid) / "task").glob("[0-9]*"), *processes.glob("[0-9]*")]
    return sorted({int(task.name) for task in tasks if _read_name(task) == name})


def _read_name(task: Path) -> str:
    try:
        return (task / "comm").read_text().strip()
    except OSError:  # it has ended
        return ""


def pin_threads(pid: int, threads: Sequence[int], pin: str) -> None:
    """Keeps all threads of a process, and further ones, on the declared cores. Raises PlatformError."""
    cores = read_core_list(pin)
    tasks = [int(task.name) for task in (PROCESSES_FOLDER / str(pid) / "task").iterdir()]
    for task in {*tasks, *threads}:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(task, cores)
