"""A network card of the host that a machine drives itself (VFIO): taken from the host's driver, and given back.

The Linux document `driver-api/vfio.rst` describes the files.
"""

import asyncio
import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from loadstone.host import launch
from loadstone.model.errors import PlatformError
from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.vm.settings import NetworkSettings

PCI_FOLDER = Path("/sys/bus/pci")
VFIO_DRIVER = "vfio-pci"
RETURN_SCRIPT = (
    'cd /sys/bus/pci; [ -e drivers/vfio-pci/"$0" ] || exit 1; echo > devices/"$0"/driver_override; '
    'echo "$0" > drivers/vfio-pci/unbind; echo "$0" > drivers_probe'
)
"""Gives the device of this address back to its driver; fails where it was given back."""
MODPROBE_TIMEOUT_S = 30.0
HOST_DRIVERS = ("", VFIO_DRIVER, "pcieport")
"""Drivers of devices that may share the card's IOMMU group."""


@dataclass(frozen=True)
class PassedCard:
    """A card that a machine has: its hardware address, and the address at which users reach the machine."""

    mac: str
    interface: ipaddress.IPv4Interface

    @property
    def address(self) -> str:
        """Its address without the prefix."""
        return str(self.interface.ip)


@asynccontextmanager
async def take_card(journal: ResourceJournal, settings: NetworkSettings) -> AsyncIterator[PassedCard | None]:
    """Takes the declared card from its driver while the block runs; None where none is declared. Raises
    PlatformError.
    """
    if not settings.vfio:
        yield None
        return
    card = await asyncio.to_thread(_take, journal, settings)
    try:
        yield card
    finally:
        await asyncio.to_thread(launch.run, _return_command(settings.vfio))


def _take(journal: ResourceJournal, settings: NetworkSettings) -> PassedCard:
    """Binds the card to vfio-pci. Raises PlatformError."""
    device = PCI_FOLDER / "devices" / settings.vfio
    _refuse_shared_group(device)
    card = PassedCard(_read_mac(device), ipaddress.IPv4Interface(settings.vfio_address))
    _load_driver()
    journal.note("foreign", what=f"PCI device {settings.vfio}", undo="\0".join(_return_command(settings.vfio)))
    try:
        (device / "driver_override").write_text(VFIO_DRIVER)
        (device / "driver" / "unbind").write_text(settings.vfio)
        (PCI_FOLDER / "drivers_probe").write_text(settings.vfio)
    except OSError as error:
        raise PlatformError(f"{settings.vfio} cannot be taken from its driver: {error}. Check `dmesg`.") from None
    if _driver(device) != VFIO_DRIVER:
        raise PlatformError(f"{settings.vfio} was not bound to {VFIO_DRIVER}. Check `dmesg`.")
    return card


def _return_command(address: str) -> list[str]:
    return ["sh", "-c", RETURN_SCRIPT, address]


def _load_driver() -> None:
    if not (PCI_FOLDER / "drivers" / VFIO_DRIVER).is_dir():
        launch.run(["modprobe", VFIO_DRIVER], timeout=MODPROBE_TIMEOUT_S)
    if not (PCI_FOLDER / "drivers" / VFIO_DRIVER).is_dir():
        raise PlatformError(f"This kernel has no driver {VFIO_DRIVER}. Load it: `modprobe {VFIO_DRIVER}`.")


def _driver(device: Path) -> str:
    link = device / "driver"
    return link.resolve().name if link.exists() else ""


def _refuse_shared_group(device: Path) -> None:
    """Raises PlatformError where the card's IOMMU group has devices that the host uses."""
    group = device / "iommu_group" / "devices"
    neighbours = [path.name for path in group.iterdir() if path.name != device.name]
    used = [name for name in neighbours if _driver(PCI_FOLDER / "devices" / name) not in HOST_DRIVERS]
    if used:
        raise PlatformError(
            f"{device.name} shares its IOMMU group with {', '.join(used)}, which the host uses. Use another slot or "
            "card."
        )


def _read_mac(device: Path) -> str:
    """Returns the card's hardware address. Raises PlatformError where the host has no interface of it."""
    files = [*device.glob("net/*/address"), *device.glob("virtio*/net/*/address")]
    if not files:
        raise PlatformError(f"{device.name} has no network interface on this host. Bind it to its own driver first.")
    return files[0].read_text().strip()
