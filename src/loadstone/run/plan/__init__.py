"""From a workload, a load and a target to the plan the driver reads. Pure, but for the salts of unique texts.

A plan is compiled once for a round of load. It is aimed at the machines of the system when their addresses are known,
and started once for each iteration, with a seed of its own.

A mixed plan is one driver process. Each workload has a record of its own, from the events that name it, so that
everything behind the store knows single workloads only.
"""

import secrets
from collections.abc import Sequence
from dataclasses import asdict

from loadstone.model.errors import UsageError
from loadstone.model.load import Arrivals
from loadstone.model.profile import Phases
from loadstone.model.records.units import to_nanoseconds
from loadstone.model.workload import Workload
from loadstone.model.workload.mix import END, MixKind
from loadstone.run.plan.load import compile_curve, compile_load, compute_data_sessions
from loadstone.run.plan.requests import (
    compile_fields,
    compile_operation,
    compute_conditional_share,
    plan_embedded_files,
)
from loadstone.run.plan.targets import aim_part, count_source_addresses, plan_target
from loadstone.run.plan.values import DataSize, compile_value
from loadstone.run.plan.workload_load import Json, Timing, WorkloadLoad
from loadstone.workloads.scaling import compute_rows
from loadstone.workloads.shares import compute_shares

__all__ = [
    "LOGGED",
    "PLAN_SCHEMA",
    "Json",
    "Timing",
    "WorkloadLoad",
    "aim_plan",
    "compile_plan",
    "compute_conditional_share",
    "compute_data_sessions",
    "count_source_addresses",
    "make_plan",
    "plan_embedded_files",
    "plan_target",
    "start_plan",
]

PLAN_SCHEMA = 5
"""Version of the plan's schema; `schemas/plan.json` is generated from the driver."""
LOGGED = 200_000
"""Operations that a driver thread logs one by one where a fault is planned: twenty megabytes of records."""
SALT_BITS = 64
"""Of what tells the unique texts of a run from those of another."""


def make_plan(parts: Sequence[WorkloadLoad], timing: Timing, log_starts: int = 0) -> Json:
    """The plan of workloads played together; raises UsageError when a target lacks a side its workload needs."""
    compiled = compile_plan(parts, timing, log_starts)
    return start_plan(aim_plan(compiled, parts, timing.phases), timing.seed)


def compile_plan(parts: Sequence[WorkloadLoad], timing: Timing, log_starts: int = 0) -> Json:
    """The plan for any target and seed. Raises UsageError for a load that its workload cannot have."""
    return {
        "schema": PLAN_SCHEMA,
        "name": "-".join(part.workload.name for part in parts),
        "phases": {
            key.removesuffix("_s") + "_ns": to_nanoseconds(value) for key, value in asdict(timing.phases).items()
        },
        "threads": timing.threads,
        "parts": [_part(part, timing.phases) for part in parts],
        "log_starts": log_starts,
        "log_operations": timing.log_operations,
    }


def aim_plan(compiled: Json, parts: Sequence[WorkloadLoad], phases: Phases) -> Json:
    """A compiled plan with the machines of its parts. Raises UsageError when they lack a side a workload needs."""
    aimed = [aim_part(planned, part, phases) for planned, part in zip(compiled["parts"], parts, strict=True)]
    return {**compiled, "parts": aimed}


def start_plan(aimed: Json, seed: int) -> Json:
    """The plan of one iteration: its seed, and salts that tell its unique texts from those of all others."""
    return {**aimed, "seed": seed, "parts": [_salted(part) for part in aimed["parts"]]}


def _salted(part: Json) -> Json:
    values = [
        {**value, "salt": secrets.randbits(SALT_BITS)} if value["kind"] == "unique" else value
        for value in part["workload"]["values"]
    ]
    return {**part, "workload": {**part["workload"], "values": values}}


def _part(part: WorkloadLoad, phases: Phases) -> Json:
    workload = part.workload
    states = workload.list_states()
    index = {name: index for index, name in enumerate(states)}
    operations = {name: index for index, name in enumerate(workload.operations)}
    owners = compute_data_sessions(workload, part.load, phases)
    size = DataSize(owners, compute_rows(workload, owners))
    if isinstance(part.load, Arrivals) and compute_shares(workload).operations_per_session is None:
        remedy = "Set operations_per_session in its mix, or use --sessions."
        raise UsageError(f"User sessions of `{workload.name}` never end, so they cannot arrive at a rate. {remedy}")
    return {
        "load": compile_load(part.load, phases, owners),
        "workload": {
            "name": workload.name,
            "values": [compile_value(name, value, size, index) for name, value in workload.values.items()],
            "operations": [compile_operation(workload, name) for name in workload.operations],
            "states": [
                {
                    "name": name,
                    "operation": operations[state.operation],
                    "pause": "none" if name in workload.pacing.no_pause_before else "drawn",
                    "set": compile_fields(state.set),
                    "when": list(state.when),
                    "least_pause_ns": to_nanoseconds(workload.pacing.least_s.get(name, 0)),
                }
                for name, state in states.items()
            ],
            "mix": _mix(workload, index),
            "pacing": {
                "kind": workload.pacing.kind,
                "distribution": workload.pacing.distribution,
                "mean_ns": to_nanoseconds(workload.pacing.mean_s),
                "cap_ns": None if workload.pacing.cap_s is None else to_nanoseconds(workload.pacing.cap_s),
            },
            "connections": workload.connections.model_dump(),
            "mailboxes": None if workload.mailboxes is None else workload.mailboxes.model_dump(mode="json"),
        },
        "curve": None if part.curve is None else compile_curve(part.curve),
    }


def _mix(workload: Workload, index: dict[str, int]) -> Json:
    mix = workload.mix
    if mix.kind is MixKind.SEQUENCE:
        return {"kind": "sequence", "states": [index[name] for name in workload.order()]}
    if mix.kind is MixKind.FLAT:
        shares = [mix.shares[name] for name in index]
        return {"kind": "flat", "shares": shares, "operations_per_session": mix.operations_per_session}
    chances = []
    for name in index:
        row = mix.from_[name]
        edges = [{"state": index[to], "probability": share} for to, share in row.items() if to != END]
        chances.append({"to": edges, "finish": row.get(END, 0.0)})
    return {"kind": "matrix", "start": index[str(mix.start)], "rows": chances}
