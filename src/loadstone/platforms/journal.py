"""What a process has made outside itself, written down before it is made, so that the next command can clear up after
a process that was killed: processes, network namespaces, links, control groups, folders.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil

from loadstone.host import launch, locks, netlink, runtime
from loadstone.host.identity import is_still, start_of
from loadstone.host.runtime import LOCK, find_runtime_folder, is_private, make_locked_folder, make_private_folder

Json = dict[str, Any]

__all__ = ["JOURNAL", "LOCK", "ResourceJournal", "find_runtime_folder", "make_private_folder", "open_journal", "reap"]

JOURNAL = "journal.jsonl"
PROCESS_END_POLL_INTERVAL_S = 0.01
FORGOTTEN_S = 60.0
"""Age of a folder that nobody will lock any more."""
GONE_S = 5.0
"""Longest wait for a killed process to be gone."""


@dataclass
class ResourceJournal:
    """One process's journal and folder for sockets and disks; locked as long as the process lives."""

    folder: Path
    lock: int
    """Descriptor that holds the lock; processes that inherit it keep the journal after the end of this one."""
    _journal: IO[str] = field(repr=False)

    @property
    def name(self) -> str:
        """Short and unlike others': part of the names of what is made."""
        return self.folder.name

    def note(self, kind: str, **details: str | int | float) -> None:
        """Writes down what is about to be made."""
        self._journal.write(json.dumps({"kind": kind, **details}) + "\n")

    def note_process(self, pid: int, purpose: str) -> None:
        """Writes down a process; its start tells it from a later one of the same number."""
        with contextlib.suppress(ProcessLookupError):
            self.note("process", pid=pid, start=start_of(pid), what=purpose)


@asynccontextmanager
async def open_journal() -> AsyncIterator[ResourceJournal]:
    """A new journal; its folder is gone when the block ends, and what is noted in it with it."""
    folder, descriptor = make_locked_folder()
    with (folder / JOURNAL).open("a", buffering=1) as file:
        try:
            yield ResourceJournal(folder, descriptor, file)
        finally:
            await asyncio.to_thread(undo, folder)  # the network library waits
            os.close(descriptor)


@contextlib.contextmanager
def adopt_journal(folder: Path) -> Iterator[ResourceJournal]:
    """The journal of a process that is gone, of whose processes some still hold the lock; held while the block runs.
    Nothing is undone at its end. Raises OSError where it is being undone already.
    """
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        with (folder / JOURNAL).open("a", buffering=1) as file:
            yield ResourceJournal(folder, descriptor, file)
    finally:
        os.close(descriptor)


def is_locked(folder: Path) -> bool:
    """Whether a process holds the journal of this folder."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)


def reap() -> list[str]:
    """Clears up after processes that were killed; says what was found, one line each."""
    above = find_runtime_folder()
    undone: list[str] = []
    for folder in sorted(above.glob(f"{runtime.RUNTIME_PREFIX}*")) if is_private(above) else []:
        with contextlib.suppress(OSError):
            held = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                undone += undo(folder)
            except BlockingIOError:
                continue  # its process lives
            finally:
                os.close(held)
    _sweep(above)
    return undone


def _sweep(above: Path) -> None:
    """Removes folders whose maker was killed before it had locked them; nothing was made from them yet."""
    for folder in above.glob(f".{runtime.RUNTIME_PREFIX}*") if is_private(above) else []:
        with contextlib.suppress(OSError):
            if time.time() - folder.lstat().st_mtime > FORGOTTEN_S:
                shutil.rmtree(folder, ignore_errors=True)


def undo(folder: Path) -> list[str]:
    """Takes away everything that a journal noted and that is still there, the last first; then its folder."""
    undone = [line for entry in reversed(_entries(folder / JOURNAL)) if (line := _undo(entry))]
    undone += [f"disk {disk.name}" for disk in sorted(folder.glob("*.qcow2"))]
    shutil.rmtree(folder, ignore_errors=True)
    return undone


def _undo(entry: Json) -> str:
    """Takes one thing away; what cannot be, or an older journal says in other words, keeps nobody from the rest."""
    with contextlib.suppress(KeyError, TypeError, OSError, psutil.Error, netlink.NetlinkError):
        return UNDO[entry["kind"]](entry)
    return ""


def remove_group(path: Path) -> bool:
    """Removes a control group once its last process is gone; whether it is."""
    until = time.monotonic() + GONE_S
    while path.is_dir() and time.monotonic() < until:
        with contextlib.suppress(OSError):
            path.rmdir()
            break
        time.sleep(PROCESS_END_POLL_INTERVAL_S)
    return not path.is_dir()


def _entries(journal: Path) -> list[Json]:
    entries: list[Json] = []
    with contextlib.suppress(OSError):
        for line in journal.read_text().splitlines():
            with contextlib.suppress(ValueError):  # the last one may be cut
                entries.append(json.loads(line))
    return entries


def _end_process(entry: Json) -> str:
    """Machines and services end by themselves when nobody talks to them any more; what does not is killed."""
    ended = f"{entry['what']} (already ended)"
    if not is_still(entry["pid"], entry["start"]):
        return ended
    family: list[psutil.Process] = []
    try:
        process = psutil.Process(entry["pid"])
        if process.status() == psutil.STATUS_ZOMBIE:
            return ended
        family = [process, *process.children(recursive=True)]
    except psutil.Error:
        return ended
    except RuntimeError:  # a sandbox hides /proc/stat, without which psutil knows no process
        pass
    for number in [member.pid for member in family] or [entry["pid"]]:
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)  # psutil would compare start times by the clock
    psutil.wait_procs(family, GONE_S)
    return f"{entry['what']} (process {entry['pid']})"


def _remove_namespace(entry: Json) -> str:
    if entry["name"] not in netlink.netns.listnetns():
        return ""
    netlink.netns.remove(entry["name"])
    return f"network namespace {entry['name']}"


def _remove_link(entry: Json) -> str:
    with netlink.IPRoute() as routes:
        links = routes.link_lookup(ifname=entry["name"])
        for index in links:
            with contextlib.suppress(Exception):  # it goes with its namespace, a moment later
                routes.link("del", index=index)
    return f"network link {entry['name']}" if links else ""


def _remove_group(entry: Json) -> str:
    path = Path(entry["path"])
    if not path.is_dir():
        return ""
    kill = path / "cgroup.kill"
    if kill.is_file():
        kill.write_text("1")
    return f"control group {path}" if remove_group(path) else ""


def _remove_unfinished(entry: Json) -> str:
    """A file that was to be renamed when it was complete; another process may write it meanwhile."""
    path = Path(entry["path"])
    return f"unfinished file {path.name}" if locks.remove_unlocked(path) else ""


def _run(entry: Json) -> str:
    """Something of another program's: a command takes it away, and says by its exit code whether it was there."""
    argv: list[str] = entry["undo"].split("\0")
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        if launch.run(argv, also=launch.OF_PODMAN, timeout=30).returncode == 0:
            return str(entry["what"])
    return ""


def _remove_route(entry: Json) -> str:
    with netlink.IPRoute() as routes:
        try:
            routes.route("del", dst=entry["block"], gateway=entry["by"])
        except netlink.NetlinkError:
            return ""
    return f"route to {entry['block']}"


def _remove_rules(entry: Json) -> str:
    with netlink.IPRoute() as routes:
        there = [rule for rule in routes.get_rules(family=socket.AF_INET) if _source(rule) == entry["subnet"]]
        for rule in there:
            routes.rule("del", priority=rule.get_attr("FRA_PRIORITY"), src=entry["subnet"])
    return f"routing rules from {entry['subnet']}" if there else ""


def _source(rule: Any) -> str:
    return f"{rule.get_attr('FRA_SRC')}/{rule['src_len']}"


def _stop_forwarding(entry: Json) -> str:
    Path("/proc/sys/net/ipv4/ip_forward").write_text("0")
    return "forwarding of packets"


UNDO: dict[str, Callable[[Json], str]] = {
    "process": _end_process,
    "namespace": _remove_namespace,
    "link": _remove_link,
    "group": _remove_group,
    "foreign": _run,
    "route": _remove_route,
    "rules": _remove_rules,
    "unfinished": _remove_unfinished,
    "forwarding": _stop_forwarding,
}
"""How each kind of thing is taken away."""
