"""Ports of this machine."""

import socket


def free_port() -> int:
    """A port of the loopback address that nobody uses at this moment."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port
