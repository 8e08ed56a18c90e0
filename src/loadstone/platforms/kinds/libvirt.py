"""Virtual machines by libvirt, for those who run it: the same images and agent, defined at the URI that is given.

A machine is transient and ends with the connection. libvirt's own test driver makes machines that run nothing: machines
on it come up and go, and say that no service can run there.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from pydantic import Field

from loadstone.host.http import find_free_port
from loadstone.host.process import Readiness
from loadstone.model.errors import PlatformError, ServiceError
from loadstone.model.machine import MachineSpec
from loadstone.model.target import Endpoint
from loadstone.platforms.contract import Attachment, Machine, MachineContext, Service
from loadstone.platforms.kind import PlatformKind, get_own_settings
from loadstone.platforms.local import refuse_line_speed
from loadstone.platforms.routing import LOOPBACK
from loadstone.platforms.vm.agent import Agent
from loadstone.platforms.vm.command import AGENT_PORT_NAME, Layout, build_kernel_line
from loadstone.platforms.vm.conflicts import find_driver_lack
from loadstone.platforms.vm.devices import get_user_mac
from loadstone.platforms.vm.guest import Guest, describe_interfaces
from loadstone.platforms.vm.image import create_disk, explain_unknown_image, get_image
from loadstone.platforms.vm.machine import VM_BOOT_TIMEOUT_S, read_last_output, shorten_sockets
from loadstone.platforms.vm.settings import USER_MODE, Accelerator, HypervisorSettings, Nic

Json = dict[str, Any]

LIBVIRT_NAME, TEST_DRIVER = "libvirt", "TEST"
MODELS = {Nic.VIRTIO: "virtio", Nic.VMXNET3: "vmxnet3", Nic.E1000: "e1000"}
NETWORK = "hostnet0"
"""What libvirt calls a machine's first network towards QEMU."""


class LibvirtSettings(HypervisorSettings):
    """Of machines by libvirt."""

    uri: str = Field(default="qemu:///session", description="URI of the libvirt connection")


@dataclass
class LibvirtMachine(Guest):
    """A machine that libvirt runs."""

    domain: Any = field(kw_only=True)
    has_guest: bool = field(kw_only=True)

    async def start(self, role: str, command: list[str], readiness: Readiness = Readiness.LINE) -> Service:
        """Has the agent start a program; raises ServiceError where the driver runs no machines."""
        if not self.has_guest:
            raise ServiceError(f"`{role}` cannot run on {self.name}: libvirt's test driver runs nothing.")
        return await super().start(role, command, readiness)

    async def forward(self, port: int) -> Endpoint:
        """Has libvirt's QEMU listen on a free port. Raises PlatformError."""
        import libvirt_qemu

        there = find_free_port()
        monitor_command = f"hostfwd_add {NETWORK} tcp:{LOOPBACK}:{there}-:{port}"
        hmp = libvirt_qemu.VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP
        reply = await asyncio.to_thread(libvirt_qemu.qemuMonitorCommand, self.domain, monitor_command, hmp)
        if reply.strip():
            raise PlatformError(f"Port {port} of {self.name} cannot be forwarded: {reply.strip()}")
        return Endpoint(LOOPBACK, there)

    async def read_outside(self) -> Json | None:
        """Returns the counters of libvirt: CPU time of the virtual processors, and of the machine in total."""
        if not self.has_guest:
            return None
        try:
            return _counters(await asyncio.to_thread(self.domain.connect().domainListGetStats, [self.domain]))
        except Exception:  # the binding's one error class says nothing of what went wrong
            return None

    def end(self) -> str:
        """Whether libvirt still has it."""
        try:
            return "" if self.domain.isActive() else "it is no longer active"
        except Exception as error:
            return f"libvirt no longer has it: {error}"


def _counters(statistics: list[tuple[Any, Json]]) -> Json:
    counters = statistics[0][1]
    total = counters.get("cpu.time", 0) / 1e9
    vcpu = sum(value for name, value in counters.items() if name.startswith("vcpu.") and name.endswith(".time")) / 1e9
    return {"cpu": {"vcpu": vcpu, "device": max(0.0, total - vcpu)}, "disk": {}, "network": {}, "exits": None}


def render_domain_xml(layout: Layout, kind: str) -> str:
    """The machine as libvirt reads it: what `command` says to QEMU, in its words. Pure."""
    spec, settings = layout.spec, get_own_settings(layout.spec, HypervisorSettings)
    domain = Element("domain", type=kind)
    _add(domain, "name", layout.name)
    _add(domain, "memory", str(spec.memory), unit="MiB")
    _add(domain, "vcpu", str(spec.cpus or 1), **({"cpuset": spec.pin.replace("+", ",")} if spec.pin else {}))
    system = _add(domain, "os")
    _add(system, "type", "hvm", arch="x86_64", **({"machine": "q35"} if kind != "test" else {}))
    _add(system, "kernel", str(layout.image.kernel))
    _add(system, "initrd", str(layout.image.initial))
    _add(system, "cmdline", build_kernel_line(layout))
    _add(_add(domain, "features"), "acpi")
    _add(domain, "cpu", mode="maximum" if kind == "qemu" else "host-passthrough")
    _add(domain, "on_reboot", "destroy")
    devices = _add(domain, "devices")
    console = _add(devices, "serial", type="file")
    _add(console, "source", path=str(layout.sockets.console))
    _add(console, "target", port="0")
    channel = _add(devices, "channel", type="unix")
    _add(channel, "source", mode="connect", path=str(layout.sockets.agent))
    _add(channel, "target", type="virtio", name=AGENT_PORT_NAME)
    _add(_add(devices, "rng", model="virtio"), "backend", "/dev/urandom", model="random")
    if layout.disk is not None:
        disk = _add(devices, "disk", type="file", device="disk")
        _add(disk, "driver", name="qemu", type="qcow2", cache=settings.cache.value)
        _add(disk, "source", file=str(layout.disk))
        _add(disk, "target", dev="vda", bus="virtio")
    if kind != "test":
        network = _add(devices, "interface", type="user")
        _add(network, "mac", address=get_user_mac())
        _add(network, "model", type=MODELS[settings.nic])
    return tostring(domain, encoding="unicode")


def _add(parent: Element, name: str, text: str = "", /, **attributes: str) -> Element:
    element = SubElement(parent, name, attributes)
    element.text = text or None
    return element


class LibvirtPlatform:
    """Makes machines by libvirt."""

    def choose_attachment(self, spec: MachineSpec) -> Attachment:
        """To libvirt's own user-mode network."""
        refuse_line_speed(spec, USER_MODE)
        return Attachment.NONE

    async def explain_missing(self, spec: MachineSpec) -> str:
        """Whether the binding is there and something answers at the URI."""
        try:
            connection = await asyncio.to_thread(_open, get_own_settings(spec, LibvirtSettings).uri)
        except PlatformError as error:
            return str(error)
        connection.close()
        return explain_unknown_image(spec.image) or find_driver_lack(get_own_settings(spec, HypervisorSettings))

    @asynccontextmanager
    async def start_machine(self, context: MachineContext) -> AsyncIterator[Machine]:
        """A machine, up; it is gone when the block ends, or this process."""
        import libvirt

        started, spec = time.monotonic(), context.spec
        settings = get_own_settings(spec, LibvirtSettings)
        connection = await asyncio.to_thread(_open, settings.uri)
        agent = Agent()
        sockets = shorten_sockets(context.journal, context.name, context.logs / f"{context.name}-console.log")
        has_guest = connection.getType() != TEST_DRIVER
        domain = None
        try:
            built = await asyncio.to_thread(get_image, spec.image, settings.kernel)
            disk = await asyncio.to_thread(create_disk, built, spec, context.journal.folder / f"{context.name}.qcow2")
            accelerator = Accelerator.KVM if settings.accelerator is Accelerator.KVM else Accelerator.TCG
            name = f"{context.journal.name}-{context.name}"
            layout = Layout(name, spec, accelerator, built, sockets, (), disk)
            kind = _kind(accelerator) if has_guest else "test"
            await agent.listen(sockets.agent)
            domain = await asyncio.to_thread(_create, libvirt, connection, render_domain_xml(layout, kind), has_guest)
            machine = LibvirtMachine(context, layout, agent, domain=domain, has_guest=has_guest)
            agent.hear = machine.on_event
            if has_guest:
                hello = await _hello(agent, context.name, sockets.console)
                await machine.personalize(describe_interfaces({}))
                machine.describe(hello, time.monotonic() - started, await agent.compare_clock())
            machine.facts |= {"platform": LIBVIRT_NAME, "uri": settings.uri, "driver": connection.getType()}
            yield machine
        finally:
            if domain is not None:
                await asyncio.to_thread(_destroy, domain)
            await agent.close()
            connection.close()


def _open(uri: str) -> Any:
    try:
        import libvirt
    except ImportError:
        remedy = "`apt-get install libvirt-dev pkg-config`, then `pip install 'loadstone[libvirt]'`."
        raise PlatformError(f"The binding to libvirt is not installed. {remedy}") from None
    libvirt.registerErrorHandler(lambda context, error: None, None)  # errors come as exceptions
    try:
        return libvirt.open(uri)
    except libvirt.libvirtError as error:
        raise PlatformError(f"libvirt does not answer at {uri}: {error}. Use another address with `uri=...`.") from None


def _kind(accelerator: Accelerator) -> str:
    return "kvm" if accelerator is Accelerator.KVM else "qemu"


def _create(libvirt: Any, connection: Any, xml: str, ends_with_us: bool) -> Any:
    try:
        return connection.createXML(xml, libvirt.VIR_DOMAIN_START_AUTODESTROY if ends_with_us else 0)
    except libvirt.libvirtError as error:
        raise PlatformError(f"libvirt refuses the machine: {error}") from None


async def _hello(agent: Agent, name: str, console: Path) -> Json:
    try:
        return await asyncio.wait_for(agent.wait_hello(), VM_BOOT_TIMEOUT_S)
    except TimeoutError:
        last_lines = read_last_output(console, console)
        raise PlatformError(
            f"The virtual machine {name} did not boot within {VM_BOOT_TIMEOUT_S:g} s; {last_lines}"
        ) from None


def _destroy(domain: Any) -> None:
    try:
        domain.destroy()
    except Exception:
        return  # it has ended by itself


KIND = PlatformKind(
    name=LIBVIRT_NAME,
    title="virtual machine by libvirt",
    plural="virtual machines by libvirt",
    maker=LibvirtPlatform(),
    fitting=frozenset({"memory", "image", "pin", "disk"}),
    settings_section=LibvirtSettings,
    installs=True,
    keeps_cores=False,
    rank=50,
)
