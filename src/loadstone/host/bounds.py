"""Bounds on the connections of pages that the lab serves: so many at once, none that never asks, none driven out."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Collection
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 256
"""Connections at once; a browser takes six."""
MOST_OF_AN_ADDRESS = 128
"""Connections of one address at once."""
HEADER_S = 10.0
"""Longest time from the beginning of a connection, or of a further request, until its header is whole."""
_numbers = itertools.count()


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, within the bounds. Where there are too many connections, the oldest that has not
    asked makes room, of the address that has the most.
    """

    _asking: asyncio.TimerHandle | None = None
    _number = 0

    @property
    def is_asking(self) -> bool:
        """Whether its request is not whole yet, or has not begun."""
        return self._asking is not None

    @property
    def address(self) -> str:
        """Address of the other side; empty where it has none."""
        return self.client[0] if self.client else ""

    def connection_made(self, transport: Any) -> None:
        """Takes a connection; another one is closed where there are too many."""
        super().connection_made(transport)
        self._number = next(_numbers)
        self._watch()
        for connection in to_make_room(
            [connection for connection in self.connections if isinstance(connection, BoundedProtocol)], self
        ):
            connection.transport.abort()
            self.connections.discard(connection)

    def data_received(self, data: bytes) -> None:
        """Hands on what came; a header must be whole in time."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forgets the connection."""
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._asking is None:
            self._asking = self.loop.call_later(HEADER_S, self.transport.close)

    def _forget(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None


def to_make_room(connections: Collection[BoundedProtocol], newest: BoundedProtocol) -> list[BoundedProtocol]:
    """Which connections are closed so that the newest may stay; the newest itself where all others are being served."""
    counts = Counter(connection.address for connection in connections)
    if counts[newest.address] > MOST_OF_AN_ADDRESS:
        among = [connection for connection in connections if connection.address == newest.address]
    elif len(connections) > MOST_CONNECTIONS:
        most = max(counts.values())
        among = [connection for connection in connections if counts[connection.address] == most]
    else:
        return []
    asking = [connection for connection in among if connection.is_asking and connection is not newest]
    return [min(asking, key=lambda connection: connection._number, default=newest)]
