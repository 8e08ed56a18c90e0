"""Who has this host: one coordinator at a time, whatever engine brought it here."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager

from loadstone.fleet.contract import FleetError
from loadstone.platforms.journal import make_private_folder

LEASE_NAME = "host.lease"


@contextmanager
def hold_host(who: str) -> Iterator[None]:
    """Holds this host for a coordinator while the block runs, and no longer than this process lives. Raises FleetError
    that names who has it.
    """
    with (make_private_folder() / LEASE_NAME).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise FleetError(f"The host is in use by {file.read(200).strip() or 'someone else'}.") from None
        file.truncate(0)
        file.write(f"{who} since {time.strftime('%Y-%m-%d %H:%M:%S')}\n")
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)
