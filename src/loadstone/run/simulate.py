"""The schedule of a workload in virtual time against a modelled server."""

from typing import Any

from loadstone.model.errors import UsageError
from loadstone.model.load import Load
from loadstone.model.profile import PROFILES, Phases
from loadstone.model.records.simulation import Simulated
from loadstone.model.workload import Workload
from loadstone.run.driver import simulate as play
from loadstone.run.plan import Timing, WorkloadLoad, make_plan

ServerModel = dict[str, Any]
"""A modelled server, as `schemas/simulation.json` says."""

PUBLISHED_MODEL = "published"
"""The modelled server that takes the published mean response time of each operation."""


async def simulate(
    workload: Workload, load: Load, seconds: float, seed: int, server: str | None, threads: int = 1
) -> Simulated:
    """Plays `seconds` of steady state, led in by the full profile's ramp-up and warm-up. Raises UsageError."""
    lead = PROFILES["full"].phases
    phases = Phases(lead.ramp_up_s, lead.warm_up_s, seconds, 0)
    plan = make_plan([WorkloadLoad(workload, load)], Timing(phases, seed, threads))
    return await play({"plan": plan, "server": read_server_model(workload, server)})


def read_server_model(workload: Workload, server: str | None) -> ServerModel:
    """Reads `fixed:SECONDS`, `exponential:SECONDS` or `published`; without one, published where there is such.
    Raises UsageError.
    """
    known = set(workload.published.response_s) >= set(workload.operations)
    if server is None:
        server = PUBLISHED_MODEL if known else "fixed:0.05"
    if server == PUBLISHED_MODEL:
        if not known:
            raise UsageError(f"`{workload.name}` has no published response times. Use fixed:SECONDS.")
        times = [round(workload.published.response_s[name] * 1e9) for name in workload.operations]
        return {"kind": "table", "response_ns": times}
    kind, _, text = server.partition(":")
    try:
        nanoseconds = round(float(text) * 1e9)
    except (ValueError, OverflowError):
        nanoseconds = -1
    keys = {"fixed": "response_ns", "exponential": "mean_ns"}
    if kind not in keys or nanoseconds < 0:
        raise UsageError(
            f"`{server}` is not a valid server model. Use published, fixed:SECONDS or exponential:SECONDS."
        )
    return {"kind": kind, keys[kind]: nanoseconds}
