"""All platforms by name."""

from loadstone.model.machine import PlatformName
from loadstone.platforms.container import ContainerPlatform
from loadstone.platforms.contract import Platform
from loadstone.platforms.podman import PodmanPlatform
from loadstone.platforms.process import ProcessPlatform
from loadstone.platforms.vm.libvirt import LibvirtPlatform
from loadstone.platforms.vm.platform import VmPlatform

PLATFORMS: dict[PlatformName, Platform] = {
    PlatformName.PROCESS: ProcessPlatform(),
    PlatformName.CONTAINER: ContainerPlatform(),
    PlatformName.PODMAN: PodmanPlatform(),
    PlatformName.VM: VmPlatform(),
    PlatformName.LIBVIRT: LibvirtPlatform(),
}
