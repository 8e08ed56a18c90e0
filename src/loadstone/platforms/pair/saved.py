"""Saved states that pairs begin with, kept where those of virtual machines are.

A state is saved before the machine has an address, so that pairs of all networks share it. Address, random numbers and
clock are renewed by the recorded network, so that both sides renew them alike.
"""

import contextlib
from dataclasses import replace
from pathlib import Path

from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.pair.command import PairLayout, SideFiles, build_qemu_command
from loadstone.platforms.pair.mode import Mode
from loadstone.platforms.vm.host_identity import HostIdentity, read_host_identity
from loadstone.platforms.vm.saved_state import UnusableStateError, create_state, open_state, remove_state
from loadstone.platforms.vm.settings import Accelerator
from loadstone.platforms.vm.state_key import NOWHERE, compute_state_key


def pair_key(layout: PairLayout, host: HostIdentity | None = None) -> str:
    """The key of the state that a pair begins with, on this host where none is given; empty where QEMU cannot be read.

    It holds the arguments of the machine that boots, and of those that record and replay. A disk is mounted later, so
    the state holds its size alone.
    """
    image = replace(layout.image, kernel=NOWHERE / "kernel", initial=NOWHERE / "initial")
    neutral = replace(layout, name="pair", image=image)
    files = SideFiles(NOWHERE, "side")
    arguments = [
        argument for mode in Mode for argument in build_qemu_command(neutral, mode, files, NOWHERE / "console")
    ]
    arguments.append(f"{layout.disk.mib} MiB of disk")
    try:
        return compute_state_key(arguments, layout.image, Accelerator.TCG, host or read_host_identity())
    except OSError:
        return ""


def copy_saved(key: str, into: Path) -> str:
    """Copies the state of this key to a file; how the pair starts: `booted` where there is none that can be used."""
    try:
        with open_state(key) as state:
            if state is None:
                return "booted"
            state.verify(into)
            return state.about
    except UnusableStateError as error:
        remove_state(key)
        return f"booted: the saved state could not be restored, {error}"


def keep_saved(key: str, state: Path, journal: ResourceJournal) -> None:
    """Keeps the state that a pair has booted to; one that cannot be kept is worth no error."""
    with create_state(key, journal) as writer, contextlib.suppress(OSError):
        if writer is not None:
            with state.open("rb", buffering=0) as file:
                writer.copy(lambda piece: file.readinto(piece) or 0)
            writer.finish({})
