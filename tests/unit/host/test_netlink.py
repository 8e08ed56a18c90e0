"""Limits of the network library."""

import pyroute2

from loadstone.host import netlink


def test_the_library_waits_for_its_processes_as_long_as_slow_hosts_need() -> None:
    assert netlink.netns is pyroute2.netns
    limits = (pyroute2.config.default_communicate_timeout, pyroute2.config.default_create_socket_timeout)
    assert limits == (netlink.NETLINK_CHILD_TIMEOUT_S, netlink.NETLINK_SOCKET_TIMEOUT_S)
