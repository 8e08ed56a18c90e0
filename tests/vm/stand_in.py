"""Stands in for QEMU beside a pair's agent: maps the shared memory as the library in QEMU does, and sends a numbered
frame every 50 ms. `stand_in.py record|replay MEMORY OUTLET MAC`.

It needs no library of the project, so that it starts in milliseconds. Its log has one event a tick, whose number the
event holds; every second tick sends a frame with that number. The replica sends the same frames as it replays.
"""

import ctypes
import mmap
import socket
import struct
import sys
import time
from pathlib import Path

TICK_S = 0.025
HEADER, CAPACITY = 4096, 16 << 20
COMMAND, STATE, IS_READ, SENT_AT = 8, 12, 16, 48
TO_QEMU, FROM_QEMU = 128, 256
"""Counters of the rings: written, read (8 bytes each), news, room (4 bytes each)."""
NEWS, ROOM = 16, 20
RECORDING, REPLAYING, LIVE = 1, 2, 3
GO_LIVE = 1
BOTTOM_HALF = 3
"""An event of a log whose body is an id of eight bytes."""
ETHERTYPE = 0x88B5
FUTEX, FUTEX_WAKE = 202, 1

libc = ctypes.CDLL(None)


class Memory:
    """The shared memory of a machine and its agent."""

    def __init__(self, path: str) -> None:
        with Path(path).open("r+b") as file:
            self.bytes = mmap.mmap(file.fileno(), HEADER + 2 * CAPACITY)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))

    def long(self, offset: int) -> int:
        return int(struct.unpack_from("<Q", self.bytes, offset)[0])

    def word(self, offset: int) -> int:
        return int(struct.unpack_from("<I", self.bytes, offset)[0])

    def set_long(self, offset: int, value: int) -> None:
        struct.pack_into("<Q", self.bytes, offset, value)

    def set_word(self, offset: int, value: int) -> None:
        struct.pack_into("<I", self.bytes, offset, value)

    def wake(self, offset: int) -> None:
        self.set_word(offset, (self.word(offset) + 1) & 0xFFFFFFFF)
        libc.syscall(FUTEX, ctypes.c_void_p(self.address + offset), FUTEX_WAKE, 1 << 30)

    def record(self, event: bytes) -> None:
        """Writes an event to the ring that the agent reads, where it is read."""
        if not self.word(IS_READ):
            return
        written = self.long(FROM_QEMU)
        while CAPACITY - (written - self.long(FROM_QEMU + 8)) < len(event):
            time.sleep(TICK_S)
        for at, byte in enumerate(event):
            self.bytes[HEADER + CAPACITY + (written + at) % CAPACITY] = byte
        self.set_long(FROM_QEMU, written + len(event))
        self.wake(FROM_QEMU + NEWS)

    def replayed(self, length: int) -> bytes | None:
        """The next bytes of the log; None while there are not as many."""
        read = self.long(TO_QEMU + 8)
        if self.long(TO_QEMU) - read < length:
            return None
        piece = bytes(self.bytes[HEADER + (read + at) % CAPACITY] for at in range(length))
        self.set_long(TO_QEMU + 8, read + length)
        self.wake(TO_QEMU + ROOM)
        return piece


class Machine:
    """A machine that counts."""

    def __init__(self, memory: Memory, outlet: str, mac: str) -> None:
        self.memory = memory
        self.line = socket.socket(socket.AF_UNIX)
        self.line.connect(outlet)
        source = bytes(int(part, 16) for part in mac.split(":"))
        self.head = b"\xff" * 6 + source + ETHERTYPE.to_bytes(2)
        self.count = 0

    def tick(self) -> None:
        """Counts one; every second number is sent."""
        if self.count % 2 == 0:
            frame = self.head + self.count.to_bytes(8) + bytes(38)
            self.memory.set_long(SENT_AT, self.memory.long(FROM_QEMU))
            try:
                self.line.sendall(len(frame).to_bytes(4) + frame)
            except BrokenPipeError:
                sys.exit(0)  # its agent is gone
        self.count += 1

    def record(self) -> None:
        """Counts by the clock, for ever."""
        due = time.monotonic()
        while True:
            self.memory.record(bytes([BOTTOM_HALF]) + self.count.to_bytes(8))
            self.tick()
            due = max(due + TICK_S, time.monotonic() - TICK_S)
            time.sleep(max(0.0, due - time.monotonic()))

    def replay(self) -> None:
        """Counts as the log does, until it is to go live."""
        while True:
            event = self.memory.replayed(9)
            if event is not None:
                assert event[0] == BOTTOM_HALF
                assert int.from_bytes(event[1:]) == self.count, (event, self.count)
                self.tick()
            elif self.memory.word(COMMAND) == GO_LIVE:
                self.memory.set_word(STATE, LIVE)
                return
            else:
                time.sleep(0.001)


def main() -> None:
    mode, memory_path, outlet, mac = sys.argv[1:]
    memory = Memory(memory_path)
    machine = Machine(memory, outlet, mac)
    memory.set_word(STATE, RECORDING if mode == "record" else REPLAYING)
    if mode == "replay":
        machine.replay()
    machine.record()


main()
