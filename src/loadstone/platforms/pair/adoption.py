"""The machine of a pair whose keeper is gone, from sides that were adopted already."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from loadstone.model.errors import PlatformError
from loadstone.platforms.contract import MachineContext
from loadstone.platforms.pair.command import AGENT_PORT
from loadstone.platforms.pair.machine import PairMachine
from loadstone.platforms.pair.side import Side
from loadstone.platforms.vm.agent import Agent
from loadstone.platforms.vm.command import Layout

GUEST_TIMEOUT_S = 5.0
"""Longest wait for the agent in a machine that is taken over: the pair can do without the conversation."""


async def adopt_machine(
    context: MachineContext,
    guest: Layout,
    sides: list[Side],
    make_secondary: Callable[[str, Side], Side],
    lose_store: Callable[[], Awaitable[None]],
    sides_made: int,
) -> PairMachine:
    """The machine on these sides, of which there is one at least. `sides_made` counts all that there ever were."""
    conversation = Agent()
    machine = PairMachine(
        context,
        guest,
        conversation,
        sides=sides,
        make_secondary=make_secondary,
        lose_store=lose_store,
        sides_made=max(2, sides_made),
    )
    conversation.hear = machine.on_event
    with suppress(PlatformError, TimeoutError):
        connecting = conversation.connect(sides[0].layout.nic.address, AGENT_PORT)
        await asyncio.wait_for(connecting, GUEST_TIMEOUT_S)
    return machine
