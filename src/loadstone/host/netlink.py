"""The kernel's interface to networks: names of pyroute2, which is imported when the first of them is used.

The import takes a fifth of a second of CPU time, and most commands make no networks.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyroute2 import IPRoute as IPRoute
    from pyroute2 import NetNS as NetNS
    from pyroute2 import netns as netns
    from pyroute2.netlink.exceptions import NetlinkError as NetlinkError


def __getattr__(name: str) -> Any:
    """Returns a name of the library. Raises AttributeError for one that this module does not offer."""
    if name == "NetlinkError":
        from pyroute2.netlink.exceptions import NetlinkError

        return NetlinkError
    if name in ("IPRoute", "NetNS", "netns"):
        import pyroute2

        return getattr(pyroute2, name)
    raise AttributeError(name)
