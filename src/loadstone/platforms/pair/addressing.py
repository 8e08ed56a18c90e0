"""Telling a pair's machine its address once it runs: a saved state has none, so that any pair may begin with it.

The machine has no channel that is not recorded, so it is told by a frame. The agent of the side that records gives it
to that machine alone; the log brings it to the other side.
"""

import asyncio
import json

from loadstone.host.tasks import TIDY_S, end_tasks
from loadstone.platforms.fabric import NetworkInterface
from loadstone.platforms.pair.command import AGENT_PORT, CARD_MAC
from loadstone.platforms.pair.side import Json, Side
from loadstone.platforms.vm.agent import Agent

BROADCAST_MAC = bytes([0xFF] * 6)
DESCRIPTION_ETHERTYPE = bytes.fromhex("88b5")
"""For local experiments (IEEE 802); the machine's agent takes the first frame of this type that it can read."""
SHORTEST_FRAME_BYTES = 60
ADDRESS_RETRY_INTERVAL_S = 0.5
"""A frame may be lost, as on any line. The machine ignores all after the first."""


def build_description(nic: NetworkInterface) -> bytes:
    """Returns the frame that tells a machine its hardware address, address and gateway."""
    interface = {
        "made_as": CARD_MAC,
        "mac": nic.mac,
        "address": nic.address,
        "prefix": nic.prefix,
        "gateway": nic.host,
    }
    frame = BROADCAST_MAC + bytes.fromhex(CARD_MAC.replace(":", "")) + DESCRIPTION_ETHERTYPE
    return (frame + json.dumps(interface).encode()).ljust(SHORTEST_FRAME_BYTES, b"\0")


async def connect_by_address(conversation: Agent, side: Side) -> Json:
    """Tells the machine of the side that serves its address until its agent answers there; the agent's first message.
    Raises PlatformError.
    """
    telling = asyncio.create_task(_tell_address(side))
    try:
        return await conversation.connect(side.layout.nic.address, AGENT_PORT)
    finally:
        await end_tasks([telling], TIDY_S)


async def _tell_address(side: Side) -> None:
    frame = [*build_description(side.layout.nic)]
    while True:
        await side.order("give", frame=frame)
        await asyncio.sleep(ADDRESS_RETRY_INTERVAL_S)
