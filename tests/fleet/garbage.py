"""Throws garbage at ports for so many seconds: `garbage.py SECONDS HOST:PORT ...`, a script of its own."""

import contextlib
import itertools
import os
import socket
import sys
import time


def main() -> None:
    """Each port in turn, each kind of garbage in turn."""
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
    thrown = 0
    for at in itertools.cycle(sys.argv[2:]):
        if time.monotonic() > until:
            break
        host, _, port = at.rpartition(":")
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=0.5) as line:
            line.sendall(next(junk))
            thrown += 1
        time.sleep(0.01)
    print(thrown)


if __name__ == "__main__":
    main()
