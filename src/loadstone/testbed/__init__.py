"""Where services and platforms meet: a system under test on its machines and networks, up and down."""

from loadstone.testbed.context import refuse_impossible, refuse_unreachable
from loadstone.testbed.testbed import Testbed
from loadstone.testbed.up import refuse_unequipped, simulate_testbed, start_testbed

__all__ = [
    "Testbed",
    "refuse_impossible",
    "refuse_unequipped",
    "refuse_unreachable",
    "simulate_testbed",
    "start_testbed",
]
