"""Bounds on the connections of the web page: so many at once, and none that never asks."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 256
"""Connections at once; a browser takes six."""
HEADER_S = 10.0
"""Longest time from the beginning of a connection, or of a further request, until its header is whole."""


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, within the bounds."""

    _asking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Takes a connection, or closes it when there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.close()
            return
        self._watch()

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
