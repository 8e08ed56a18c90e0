"""The station as a service: its command, its model in virtual time, and where it says how busy it is."""

from loadstone.model.machine import SERVER
from loadstone.model.system import Station, UserSpread

Json = dict[str, object]

USAGE = "/usage"
"""Path of what a station says of its own use."""


def build_command(station: Station, listen: str, threads: int) -> list[str]:
    """A station on a free port of an address."""
    arguments = [SERVER, "station", "--until-stdin-ends", "--listen", f"{listen}:0", "--threads", str(threads)]
    for name, value in station.model_dump().items():
        if value is not None:
            option = "distribution" if name == "spread" else name.replace("_", "-")
            arguments += [f"--{option}", str(value)]
    return arguments


def plan_layout(station: Station) -> Json:
    """The station as the discrete-event simulation reads it."""
    service: Json = {"kind": station.spread.replace("-", "_"), "mean_ns": _ns(station.service)}
    if station.spread is UserSpread.LOG_NORMAL:
        service["cv"] = station.cv
    faults = {
        "stall_every_ns": _ns(station.stall_every),
        "stall_ns": _ns(station.stall),
        "error_share": station.error_share,
        "slow_start_ns": _ns(station.slow_start),
        "slow_start_factor": station.slow_start_factor,
    }
    return {"workers": station.workers, "service": service, "queue": station.queue, "faults": faults}


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
