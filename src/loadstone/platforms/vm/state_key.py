"""Names of saved states: everything that determines the state of a machine that has just booted. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from loadstone.host.cache import compute_digest
from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.vm.command import Layout, Sockets, build_command
from loadstone.platforms.vm.host_identity import HostIdentity
from loadstone.platforms.vm.image import Image
from loadstone.platforms.vm.settings import Accelerator

STATE_FORMAT = 1
"""Changes when states are saved at another point of the boot, or restored in another way."""
NOWHERE = Path("/nowhere")
"""In place of files that belong to one machine, or whose contents have a name already."""


def state_key(layout: Layout, host: HostIdentity) -> str:
    """The key of a machine's state: QEMU's arguments (memory, CPUs, devices, kernel arguments) without what belongs to
    one machine, the contents of its image, the host.
    """
    neutral = replace(
        layout,
        name="machine",
        image=replace(layout.image, kernel=NOWHERE / "kernel", initial=NOWHERE / "initial"),
        sockets=Sockets(NOWHERE / "qmp", NOWHERE / "agent", NOWHERE / "console"),
        nics=[NetworkInterface("", f"tap{number}", "", "", "", "") for number in range(len(layout.nics))],
        disk=layout.disk and NOWHERE / "disk",
        data_disk=layout.data_disk and NOWHERE / "data-disk",
    )
    sizes = f"{layout.spec.disk} MiB of disk, {layout.settings.data_disk} of data disk"
    arguments = [*build_command(neutral), sizes]
    return compute_state_key(arguments, layout.image, layout.accelerator, host)


def compute_state_key(arguments: Sequence[str], image: Image, accelerator: Accelerator, host: HostIdentity) -> str:
    """The same for arguments of QEMU that name no file of one machine. The processor matters under KVM alone."""
    processor = host.processor if accelerator is Accelerator.KVM else ""
    parts = [str(STATE_FORMAT), image.digest, image.kernel_version, accelerator, host.qemu, processor, *arguments]
    return compute_digest(*(part.encode() for part in parts))
