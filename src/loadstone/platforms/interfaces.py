"""Addresses and counters of a machine's lines."""

from collections.abc import Mapping
from pathlib import Path

from loadstone.model.machine import ALL_PUBLIC_NETWORKS, PUBLIC
from loadstone.platforms.fabric import TAP, NetworkInterface


def find_address(nics: Mapping[str, NetworkInterface]) -> str | None:
    """The address at which the host reaches a machine with these lines: the public one, else the first."""
    nic = nics.get(PUBLIC) or next(iter(nics.values()), None)
    return nic.address if nic else None


def list_further_addresses(nics: Mapping[str, NetworkInterface]) -> tuple[str, ...]:
    """Returns the addresses of a machine on its public networks but the first."""
    return tuple(nics[network].address for network in ALL_PUBLIC_NETWORKS[1:] if network in nics)


def list_addresses(nics: Mapping[str, NetworkInterface]) -> dict[str, str]:
    """A machine's addresses by network, for its facts."""
    return {name: nic.address for name, nic in nics.items()}


def read_line_counters(pid: int, nics: Mapping[str, NetworkInterface]) -> dict[str, dict[str, int]]:
    """Bytes and drops by network, as the machine counts them (proc(5), /proc/net/dev of a process's namespace).

    What a tap receives, its machine has sent.
    """
    counters: dict[str, dict[str, int]] = {}
    by_interface = {nic.interface: name for name, nic in nics.items()}
    for line in Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:] if nics else []:
        name, _, rest = line.partition(":")
        network = by_interface.get(name.strip())
        if network is not None:
            fields = [int(field) for field in rest.split()]
            received = {"bytes": fields[0], "packets": fields[1], "drop": fields[3]}
            sent = {"bytes": fields[8], "packets": fields[9], "drop": fields[11]}
            if name.strip().startswith(TAP):
                received, sent = sent, received
            counters[network] = {
                "bytes_sent": sent["bytes"],
                "bytes_recv": received["bytes"],
                "packets_sent": sent["packets"],
                "packets_recv": received["packets"],
                "dropout": sent["drop"],
                "dropin": received["drop"],
            }
    return counters
