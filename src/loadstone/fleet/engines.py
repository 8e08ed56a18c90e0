"""Which engine holds a fleet together."""

from loadstone.fleet.cluster import Keys, enter, head_address, keys_folder
from loadstone.fleet.contract import Fleet, FleetError
from loadstone.fleet.local import LocalFleet
from loadstone.fleet.open import own_name
from loadstone.model.fleet import BackEnd, FleetSpec

EXTRA = "pip install 'loadstone[fleet]'"


def engine_of(spec: FleetSpec) -> Fleet:
    """The engine of a fleet, not yet asked for anything. Raises FleetError when it is not installed."""
    if spec.back_end is BackEnd.LOCAL:
        return LocalFleet(spec, own_name())
    address = spec.cluster or head_address(spec)
    if not spec.cluster:
        enter(Keys(keys_folder(address)))  # before the engine is read, which looks at its settings then
    try:
        from loadstone.fleet.ray_engine import RayFleet
    except ImportError as error:
        raise FleetError(f"The engine of fleets is not installed: {error}. `{EXTRA}` does it.") from None
    return RayFleet(spec, address)
