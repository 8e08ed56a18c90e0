"""Networks of a testbed: bridges in a network namespace of their own, machines' lines to them, rates on the lines.

The host reaches each network through one link, so that drivers stay where they are; all is gone with the namespace.
"""

import asyncio
import errno
import ipaddress
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from loadstone.host import locks, netlink
from loadstone.model.errors import PlatformError
from loadstone.platforms.journal import ResourceJournal
from loadstone.platforms.subnets import BLOCK, PREFIX, find_free_subnet

TAP = "tap"
"""First letters of the lines of virtual machines."""
TAP_ATTEMPTS = 5
"""Times that a tap is requested from a host that is too slow for the library."""
BURST_BYTES = 32 * 1024
"""What a line may send at once: at least a millisecond's worth up to 250 Mbit/s."""
QUEUE_MS = 50
"""Longest stay in a line's queue, as a small router's."""
MAIN_TABLE = 254
"""Of routes (rtnetlink(7), RT_TABLE_MAIN)."""
RULE_PRIORITY = 5100
"""Of the first of a network's two routing rules: behind the kernel's own, before those that others make."""


def _forget_inherited() -> None:
    """What the network library forks must not share the event loop's ear: a signal to it would be heard as ours."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


os.register_at_fork(after_in_child=_forget_inherited)


@dataclass(frozen=True)
class NetworkInterface:
    """One machine's line to one network."""

    network: str
    interface: str
    """Name of its end in the namespace, for machines that have a tap."""
    namespace: str
    address: str
    mac: str
    host: str
    """The host's own address on that network."""
    prefix: int = PREFIX
    twin: str = ""
    """Name of a second tap for the same address; for machines that are two."""
    mtu: int = 0
    """Longest packet in bytes, where that is less than Ethernet's 1500; 0 where it is not."""


@dataclass(frozen=True)
class TapOptions:
    """Properties of a virtual machine's line."""

    mbit_per_s: float | None = None
    """Speed each way; None without a limit."""
    queues: int = 1
    """Pairs of queues."""
    mtu: int = 0
    """Longest packet in bytes; 0 as its network."""
    bridge: str = ""
    """Bridge of the host that the line's network is joined to."""


@dataclass(frozen=True)
class Member:
    """A host that a wide network reaches."""

    number: int
    """Its place among the network's addresses, counted from 1; the first passes on what is for elsewhere."""
    underlay: str
    """Its address as the other hosts reach it."""
    is_side: bool
    """Whether machines on this network are there: what is for all goes to such hosts alone, but from one of them."""


@dataclass(frozen=True)
class WideNetwork:
    """One network over several hosts, each of which has a bridge of it: Ethernet in UDP (RFC 7348)."""

    name: str
    subnet: ipaddress.IPv4Network
    number: int
    """Its identifier, 24 bits, chosen at random."""
    members: tuple[Member, ...]

    def get_address(self, member: Member) -> str:
        """A member's own address on it."""
        return str(self.subnet[member.number])

    def list_peers(self, member_here: Member) -> tuple[Member, ...]:
        """Members that get what one sends to all, or to a machine."""
        return tuple(
            member for member in self.members if member != member_here and (member.is_side or member_here.is_side)
        )


VXLAN_PORT = 4789
"""By RFC 7348, section 8."""
ETHERNET_MTU = 1500
VXLAN_MTU = 1450
"""Ethernet's 1500 less the headers of Ethernet, VXLAN, UDP and IPv4 (RFC 7348, section 5)."""
ALL = "00:00:00:00:00:00"
"""Address of an entry for what no other entry is for."""


@dataclass
class Network:
    """One bridge."""

    name: str
    subnet: ipaddress.IPv4Network
    taken: int = 1
    own: str = ""
    """The address of this host, where it is not the first."""
    mtu: int = 0
    """Longest packet, where that is less than Ethernet's; 0 where it is not."""
    link: str = ""
    """The host's end of its link to the network."""
    joined: str = ""
    """Bridge of the host that it is joined to; empty without one."""

    @property
    def host(self) -> str:
        """The address of the host that passes on what is for elsewhere."""
        return str(self.subnet[1])

    def choose_address(self) -> str:
        """An address that is free; raises PlatformError when there is none."""
        self.taken += 1
        if self.taken > self.subnet.num_addresses - 2:
            raise PlatformError(f"The network {self.name} has no address left for another machine.")
        return str(self.subnet[self.taken])


@dataclass
class Fabric:
    """All networks of one testbed."""

    journal: ResourceJournal
    block: ipaddress.IPv4Network = BLOCK
    """Addresses that its networks take theirs from."""
    networks: dict[str, Network] = field(default_factory=dict)
    lines: int = 0

    @property
    def namespace(self) -> str:
        """Name of its network namespace."""
        return self.journal.name

    async def get_network(self, name: str) -> Network:
        """A network by name; made when it is not there yet. Raises PlatformError."""
        if name not in self.networks:
            async with _choosing():
                self.networks[name] = await _guarded(self._make, name)
        return self.networks[name]

    async def join(self, wide: WideNetwork, member_here: Member) -> None:
        """Makes this host's bridge of a network over several hosts. Raises PlatformError."""
        async with _choosing():
            self.networks[wide.name] = await _guarded(self._make_wide, wide, member_here)

    async def create_tap(self, network: str, options: TapOptions, has_twin: bool = False) -> NetworkInterface:
        """Creates a line for a virtual machine that starts in the namespace, or two of them. Raises PlatformError."""
        bridge = await self.get_network(network)
        if options.bridge and bridge.joined != options.bridge:
            await _guarded(self._join_bridge, bridge, options.bridge)
        self.lines += 1
        nic = self._wire(bridge, f"{TAP}{self.lines}", self.namespace)
        if options.mtu > ETHERNET_MTU:
            await _guarded(self._widen, bridge, options.mtu)
        await _guarded(self._make_tap, nic, options)
        if has_twin:
            self.lines += 1
            nic = replace(nic, twin=f"{TAP}{self.lines}")
            await _guarded(self._make_tap, replace(nic, interface=nic.twin), options)
            await _guarded(self._send_everywhere, nic.network)
        return nic

    async def link(
        self, network: str, namespace: str, mbit_per_s: float | None, *, is_default_route: bool = False
    ) -> NetworkInterface:
        """A line into another namespace, which is made if need be. Raises PlatformError."""
        bridge = await self.get_network(network)
        self.lines += 1
        nic = self._wire(bridge, f"eth{self.lines}", namespace)
        await _guarded(self._make_link, nic, mbit_per_s, is_default_route)
        return nic

    def _wire(self, network: Network, interface: str, namespace: str) -> NetworkInterface:
        address = network.choose_address()
        return NetworkInterface(
            network.name, interface, namespace, address, compute_mac(address), network.host, mtu=network.mtu
        )

    def _make(self, name: str) -> Network:
        network = Network(name, find_free_subnet(self.block, (held.subnet for held in self.networks.values())))
        self._make_bridge(network)
        return network

    def _make_wide(self, wide: WideNetwork, member_here: Member) -> Network:
        address = wide.get_address(member_here)
        network = Network(wide.name, wide.subnet, len(wide.members), address, VXLAN_MTU)
        self._make_bridge(network)
        tunnel = f"{self.journal.name}-x{len(self.networks)}"
        self.journal.note("link", name=tunnel)
        with netlink.IPRoute() as routes:
            settings = {"vxlan_id": wide.number, "vxlan_local": member_here.underlay, "vxlan_port": VXLAN_PORT}
            routes.link("add", ifname=tunnel, kind="vxlan", vxlan_learning=0, **settings)
            routes.link("set", index=_index(routes, tunnel), net_ns_fd=self.namespace)
        with netlink.NetNS(self.namespace) as inside:
            index = _index(inside, tunnel)
            inside.link("set", index=index, mtu=VXLAN_MTU)
            for peer in wide.list_peers(member_here):
                inside.fdb("append", ifindex=index, lladdr=ALL, dst=peer.underlay)
            for neighbour in wide.members:
                if neighbour != member_here:
                    inside.fdb(
                        "add", ifindex=index, lladdr=compute_mac(wide.get_address(neighbour)), dst=neighbour.underlay
                    )
            _join(inside, tunnel, network.name)
        self._send_everywhere(network.name)
        return network

    def _make_bridge(self, network: Network) -> None:
        """And the host's own link to it."""
        name, address = network.name, network.own or network.host
        if not self.networks:
            self.journal.note("namespace", name=self.namespace)
            netlink.netns.create(self.namespace)
        up = network.link = f"{self.journal.name}-{len(self.networks)}"
        self.journal.note("link", name=up)
        with netlink.NetNS(self.namespace) as inside:
            inside.link("set", index=_index(inside, "lo"), state="up")
            inside.link("add", ifname=name, kind="bridge", br_forward_delay=0)
            inside.link("set", index=_index(inside, name), state="up")
        with netlink.IPRoute() as routes:
            peer = {"ifname": f"up-{name}", "net_ns_fd": self.namespace}
            routes.link("add", ifname=up, kind="veth", peer=peer)
            index = _index(routes, up)
            if network.mtu:
                routes.link("set", index=index, address=compute_mac(address), mtu=network.mtu)
            routes.addr("add", index=index, address=address, prefixlen=PREFIX)
            routes.link("set", index=index, state="up")
            if self.block == BLOCK:
                self._keep_from_neighbours(routes, network)
        with netlink.NetNS(self.namespace) as inside:
            _join(inside, f"up-{name}", name)

    def _keep_from_neighbours(self, routes: "netlink.IPRoute", network: Network) -> None:
        """Has answers from a network's addresses go to testbeds alone: Linux takes packets for its own addresses on
        each of its links, and neighbours may route. (In a fleet, other hosts are asked and must be answered.)
        """
        subnet = str(network.subnet)
        self.journal.note("rules", subnet=subnet)
        routes.rule("add", priority=RULE_PRIORITY, src=subnet, dst=str(BLOCK), table=MAIN_TABLE)
        routes.rule("add", priority=RULE_PRIORITY + 1, src=subnet, action="blackhole")

    def find_joined(self, bridge: str) -> str:
        """Returns the name of the network that is joined to a bridge of the host; empty where there is none."""
        return next((network.name for network in self.networks.values() if network.joined == bridge), "")

    def _join_bridge(self, network: Network, bridge: str) -> None:
        """Connects a network with a bridge of the host, and so with the bridge's physical ports."""
        near, far = network.link.replace("-", "-b"), f"b-{network.name}"
        self.journal.note("link", name=near)
        with netlink.IPRoute() as routes:
            routes.link("add", ifname=near, kind="veth", peer={"ifname": far, "net_ns_fd": self.namespace})
            _join(routes, near, bridge)
        with netlink.NetNS(self.namespace) as inside:
            _join(inside, far, network.name)
        network.joined = bridge

    def _widen(self, network: Network, mtu: int) -> None:
        """Lets the host send and receive longer packets on a network."""
        with netlink.IPRoute() as routes:
            routes.link("set", index=_index(routes, network.link), mtu=mtu)
        with netlink.NetNS(self.namespace) as inside:
            inside.link("set", index=_index(inside, f"up-{network.name}"), mtu=mtu)

    def _make_tap(self, nic: NetworkInterface, options: TapOptions) -> None:
        mbit_per_s = options.mbit_per_s
        with netlink.NetNS(self.namespace) as inside:
            _add_tap(inside, nic.interface, options.queues)
            if options.mtu:
                inside.link("set", index=_index(inside, nic.interface), mtu=options.mtu)
            if mbit_per_s is None:
                _join(inside, nic.interface, nic.network)
                return
            # What leaves the machine is slowed on a link of its own behind the tap, what goes to it on the tap.
            bridge, near, far = (f"{nic.interface}{end}" for end in ("b", "n", "f"))
            inside.link("add", ifname=bridge, kind="bridge", br_forward_delay=0)
            inside.link("set", index=_index(inside, bridge), state="up")
            inside.link("add", ifname=near, kind="veth", peer={"ifname": far})
            for name in (near, far) if options.mtu else ():
                inside.link("set", index=_index(inside, name), mtu=options.mtu)
            _join(inside, nic.interface, bridge)
            _join(inside, near, bridge)
            _join(inside, far, nic.network)
            _slow(inside, near, mbit_per_s)
            _slow(inside, nic.interface, mbit_per_s)

    def _send_everywhere(self, network: str) -> None:
        """Has a network's bridge forget at once who is where: whoever follows a machine sees what is sent to it."""
        with netlink.NetNS(self.namespace) as inside:
            inside.link("set", index=_index(inside, network), kind="bridge", br_ageing_time=0)

    def _make_link(self, nic: NetworkInterface, mbit_per_s: float | None, is_default_route: bool) -> None:
        if nic.namespace not in netlink.netns.listnetns():
            self.journal.note("namespace", name=nic.namespace)
            netlink.netns.create(nic.namespace)
        far = f"far{nic.interface}"
        with netlink.NetNS(self.namespace) as inside:
            peer = {"ifname": nic.interface, "net_ns_fd": nic.namespace}
            inside.link("add", ifname=far, kind="veth", peer=peer)
            _join(inside, far, nic.network)
            if mbit_per_s is not None:
                _slow(inside, far, mbit_per_s)
        with netlink.NetNS(nic.namespace) as namespace:
            namespace.link("set", index=_index(namespace, "lo"), state="up")
            index = _index(namespace, nic.interface)
            namespace.link("set", index=index, address=nic.mac)
            namespace.addr("add", index=index, address=nic.address, prefixlen=nic.prefix)
            namespace.link("set", index=index, state="up")
            if mbit_per_s is not None:
                _slow(namespace, nic.interface, mbit_per_s)
            if is_default_route:
                namespace.route("add", dst="default", gateway=nic.host)


def may_make_networks() -> bool:
    """Whether this user may make namespaces and links: effective CAP_NET_ADMIN and CAP_SYS_ADMIN (capabilities(7))."""
    status = Path("/proc/self/status").read_text().splitlines()
    effective = next(int(line.split()[1], 16) for line in status if line.startswith("CapEff:"))
    return bool(effective >> 12 & 1 and effective >> 21 & 1) and Path("/dev/net/tun").exists()


def compute_mac(address: str) -> str:
    """The hardware address of who has an address: locally administered, unlike all others of its network."""
    return "52:54:" + ":".join(f"{byte:02x}" for byte in ipaddress.ip_address(address).packed)


def _index(routes: "netlink.IPRoute", name: str) -> int:
    return int(routes.link_lookup(ifname=name)[0])


def _add_tap(routes: "netlink.IPRoute", name: str, queues: int) -> None:
    """Adds a tap. The library waits 4 s for its own child process and then reports ENODATA: a host with much other work
    may need longer, and the tap may be there all the same.
    """
    several = {"ifr": {"multi_queue": 1}} if queues > 1 else {}
    for attempt in range(TAP_ATTEMPTS):
        try:
            routes.link("add", ifname=name, kind="tuntap", mode="tap", **several)
            return
        except netlink.NetlinkError as error:
            if attempt and error.code == errno.EEXIST:
                return
            if error.code != errno.ENODATA or attempt == TAP_ATTEMPTS - 1:
                raise


def _join(routes: "netlink.IPRoute", name: str, bridge: str) -> None:
    routes.link("set", index=_index(routes, name), master=_index(routes, bridge), state="up")


def _slow(routes: "netlink.IPRoute", name: str, mbit_per_s: float) -> None:
    """A token bucket on what leaves by a link. Packets are cut to their length on the wire before."""
    bytes_per_s = int(mbit_per_s * 1e6 / 8)
    index = _index(routes, name)
    routes.tc("add", "tbf", index, rate=bytes_per_s, burst=BURST_BYTES, latency=f"{QUEUE_MS}ms")


@asynccontextmanager
async def _choosing() -> AsyncIterator[None]:
    """No two testbeds of this host may choose the same addresses; raises PlatformError when another never ends."""
    try:
        async with locks.lock_addresses():
            yield
    except TimeoutError as error:
        raise PlatformError(f"A network cannot be created: {error} Stop that process (`ss -xlp`).") from None


async def _guarded(make: Any, *arguments: Any) -> Any:
    """Makes something in a thread, since the library waits; raises PlatformError when the kernel refuses."""
    try:
        return await asyncio.to_thread(make, *arguments)
    except (netlink.NetlinkError, OSError) as error:
        remedy = "Private networks require root; `network=user` works without root."
        raise PlatformError(f"A network cannot be created: {error}. {remedy}") from None
