"""The kernel's interface to networks: names of pyroute2, which is imported when the first of them is used.

The import takes a fifth of a second of CPU time, and most commands make no networks.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyroute2 import IPRoute as IPRoute
    from pyroute2 import NetNS as NetNS
    from pyroute2 import netns as netns
    from pyroute2.netlink.exceptions import NetlinkError as NetlinkError

NETLINK_CHILD_TIMEOUT_S = 60
"""Longest wait for a process that the library forks. Its own limit is 2 s, which a fork takes on an emulated host."""
NETLINK_SOCKET_TIMEOUT_S = 300
"""Longest wait for a socket in a namespace, in seconds, over all attempts."""


def __getattr__(name: str) -> Any:
    """Returns a name of the library. Raises AttributeError for one that this module does not offer."""
    if name == "NetlinkError":
        from pyroute2.netlink.exceptions import NetlinkError

        return NetlinkError
    if name in ("IPRoute", "NetNS", "netns"):
        import pyroute2

        pyroute2.config.default_communicate_timeout = NETLINK_CHILD_TIMEOUT_S
        pyroute2.config.default_create_socket_timeout = NETLINK_SOCKET_TIMEOUT_S
        return getattr(pyroute2, name)
    raise AttributeError(name)
