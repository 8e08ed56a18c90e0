"""Asks a server over one connection until a file is there, and writes what came of it: `FILE.count` has the number of
answers so far, and `FILE` is made by whoever wants the end.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from benches.failovers import Client


async def ask(host: str, port: int, end: Path) -> None:
    """Until the file is there, or the connection breaks."""
    client, begun = Client(host, port), time.monotonic()
    asking = asyncio.create_task(asyncio.to_thread(client.ask))
    count = end.with_suffix(".count")
    while not end.exists() and not asking.done():
        new = count.with_suffix(".new")
        new.write_text(str(len(client.answers)))
        new.replace(count)
        await asyncio.sleep(0.1)
    client.end()
    await asking
    print(json.dumps({"errors": client.errors, "longest_gap_s": client.longest_gap_s(begun)}))


if __name__ == "__main__":
    address, port, end = sys.argv[1:]
    asyncio.run(ask(address, int(port), Path(end)))
