"""Which engine holds a fleet together."""

import importlib.util
import sys

from loadstone.fleet.cluster import Keys, find_keys_folder, format_head_address
from loadstone.fleet.contract import Fleet, FleetError
from loadstone.fleet.engine_process import ENGINE_MODULE, ProcessFleet
from loadstone.fleet.local import LocalFleet
from loadstone.fleet.open import get_own_name
from loadstone.model.fleet import BackEnd, FleetSpec

EXTRA = "pip install 'loadstone[fleet]'"


def create_engine(spec: FleetSpec) -> Fleet:
    """The engine of a fleet, not yet asked for anything. Raises FleetError when it is not installed."""
    if spec.back_end is BackEnd.LOCAL:
        return LocalFleet(spec, get_own_name())
    if importlib.util.find_spec("ray") is None:
        raise FleetError(f"The engine of fleets is not installed. `{EXTRA}` does it.")
    address = spec.cluster or format_head_address(spec)
    environment = {} if spec.cluster else Keys(find_keys_folder(address)).build_environment()
    return ProcessFleet([sys.executable, "-m", ENGINE_MODULE, address, spec.model_dump_json()], address, environment)
