"""Where services and platforms meet: a system under test on its machines and networks, up and down."""

from loadstone.testbed.ground import refuse_impossible
from loadstone.testbed.up import Demand, Testbed, rehearsed_testbed, testbed_of

__all__ = ["Demand", "Testbed", "refuse_impossible", "rehearsed_testbed", "testbed_of"]
