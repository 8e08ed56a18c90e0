"""Which engine holds a fleet together."""

import importlib.util
import sys

from loadstone.fleet.cluster import Keys, head_address, keys_folder
from loadstone.fleet.contract import Fleet, FleetError
from loadstone.fleet.engine_process import MODULE, ProcessFleet
from loadstone.fleet.local import LocalFleet
from loadstone.fleet.open import own_name
from loadstone.model.fleet import BackEnd, FleetSpec

EXTRA = "pip install 'loadstone[fleet]'"


def engine_of(spec: FleetSpec) -> Fleet:
    """The engine of a fleet, not yet asked for anything. Raises FleetError when it is not installed."""
    if spec.back_end is BackEnd.LOCAL:
        return LocalFleet(spec, own_name())
    if importlib.util.find_spec("ray") is None:
        raise FleetError(f"The engine of fleets is not installed. `{EXTRA}` does it.")
    address = spec.cluster or head_address(spec)
    environment = {} if spec.cluster else Keys(keys_folder(address)).environment()
    return ProcessFleet([sys.executable, "-m", MODULE, address, spec.model_dump_json()], address, environment)
