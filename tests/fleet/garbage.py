"""Throws garbage at ports for so many seconds: `garbage.py SECONDS HOST:PORT ...`, a script of its own."""

import contextlib
import itertools
import os
import socket
import sys
import time


def main() -> None:
    """Throws at each port in turn, each kind of garbage in turn, and at all of them twice at least."""
    until = time.monotonic() + float(sys.argv[1])
    junk = itertools.cycle(
        [
            os.urandom(65536),
            b"GET / HTTP/1.1\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + os.urandom(512),
            b"\x16\x03\x01\x02\x00\x01" + os.urandom(512),
            b"{}\n" * 1000,
        ]
    )
    ports, thrown = sys.argv[2:], 0
    for number, at in enumerate(itertools.cycle(ports)):
        if time.monotonic() > until and number >= 2 * len(ports):
            break
        host, _, port = at.rpartition(":")
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=0.5) as line:
            line.sendall(next(junk))
            thrown += 1
        time.sleep(0.01)
    print(thrown)


if __name__ == "__main__":
    main()
