"""What both ends of a cluster know: names, ports, and the environment that every process of it has."""

import math
import os
import socket
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from loadstone.fleet.contract import FleetError
from loadstone.host.secrets import CLUSTER_TOKEN
from loadstone.model.fleet import FleetSpec

HEAD_PORT = 6380
"""Of the head: outside of the workers' ports (10002 to 19999), and not Redis' own."""
HEALTH = {"initial_delay_ms": 1000, "period_ms": 500, "timeout_ms": 500}
"""Looks of the head at its hosts. A cut is noticed in 3 s instead of a minute (measured: 2.9 s with Ray 2.60)."""
LEAST_FAILURES = 3
"""Looks in a row that fail before a host is given up; each takes up to a second."""
TOKEN, CLUSTER_AUTHORITY, CLUSTER_CERTIFICATE, CLUSTER_KEY = "token", "authority.pem", "server.pem", "server-key.pem"
"""Files of a cluster's keys."""


def name_resource(name: str) -> str:
    """The cluster's own resource that stands for a host."""
    return f"loadstone-host:{name}"


def format_head_address(spec: FleetSpec) -> str:
    """HOST:PORT of the head of a fleet's own cluster, which is on the coordinator's machine."""
    return f"{find_head_host(spec)}:{HEAD_PORT}"


def find_head_host(spec: FleetSpec) -> str:
    """The coordinator's address as its hosts reach it. Raises FleetError."""
    return find_own_address(next(iter(spec.hosts.values())).address)


def find_own_address(peer: str) -> str:
    """This machine's address on the way to another; raises FleetError when there is no way."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((peer, 9))  # sends nothing, but takes the way there
        except OSError as error:
            raise FleetError(f"No route to {peer}: {error.strerror}. Check the network.") from None
        return str(probe.getsockname()[0])


def find_keys_folder(address: str) -> Path:
    """Returns the folder of this user's keys of the cluster with that head, on any of its machines. Raises FleetError
    for a user without a home.
    """
    try:
        state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    except RuntimeError:
        raise FleetError("This user has no home folder for the keys. Set HOME or XDG_STATE_HOME.") from None
    return Path(state) / "loadstone" / "fleet" / address.replace(":", "-")


@dataclass(frozen=True)
class Keys:
    """Folder of the files that let a process into a cluster: a token, and a certificate of the cluster's authority."""

    folder: Path

    def build_environment(self) -> Mapping[str, str]:
        """Returns the variables of every process of the cluster. Raises FleetError if other users can
        read the files.
        """
        token = self.folder / TOKEN
        try:
            state, text = token.stat(), token.read_text().strip()
        except OSError as error:
            raise FleetError(
                f"The cluster's keys cannot be read: {error}. `loadstone fleet up` creates them."
            ) from None
        if state.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise FleetError(f"{token} can be read by other users. Run `chmod 600` on it, and replace the token.")
        tls = {"SERVER_CERT": CLUSTER_CERTIFICATE, "SERVER_KEY": CLUSTER_KEY, "CA_CERT": CLUSTER_AUTHORITY}
        return {
            "RAY_AUTH_MODE": "token",
            CLUSTER_TOKEN: text,
            "RAY_USE_TLS": "1",
            **{f"RAY_TLS_{name}": str(self.folder / file) for name, file in tls.items()},
            **RAY_SETTINGS,
        }


RAY_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
    # Pairs with a lease live on without their supervisor; all else has guards and journals of its own.
    "RAY_kill_child_processes_on_worker_exit": "false",
}
"""What is set for every cluster of ours."""


def build_health_check(silence_s: float) -> dict[str, str]:
    """Returns the head's variables for its looks at hosts, which a fleet gives up after `silence_s`."""
    looks = HEALTH | {"failure_threshold": max(LEAST_FAILURES, math.ceil(silence_s))}
    return {f"RAY_health_check_{name}": str(value) for name, value in looks.items()}
