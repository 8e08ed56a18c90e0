"""What a tool is asked to do in a run, and which runs a tool cannot make."""

import math
from collections.abc import Sequence

from loadstone.model.errors import UsageError
from loadstone.model.load import Population
from loadstone.model.reading import Section, from_settings
from loadstone.model.system import Clock, Reference
from loadstone.model.target import Target
from loadstone.model.workload import ToolUse, Workload
from loadstone.model.workload.operation import TimeLimit
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.run.tool_events import ToolJob, ToolOperation
from loadstone.store.folder import RunFolder
from loadstone.testbed.software import refuse_missing
from loadstone.tools.kind import ToolKind, ToolTask
from loadstone.tools.registry import find_tool


def make_tool_job(spec: RunSpec, part: WorkloadLoad, targets: Sequence[Target], folder: RunFolder) -> ToolJob | None:
    """Returns what a part's tool is asked to do once; None for a part that the driver plays."""
    workload, use = part.workload, part.workload.tool
    if use is None:
        return None
    assert isinstance(part.load, Population) and targets[0].http is not None
    operations = tuple(
        ToolOperation(name, workload.operations[name].path, _limit_of(workload, name)) for name in workload.mix.shares
    )
    task = ToolTask(
        operation=operations[0].path,
        settings=read_tool_settings(use),
        clients=part.load.sessions,
        lead_s=float(math.ceil(spec.profile.phases.lead_s)),
        steady_s=spec.profile.phases.steady_s,
        endpoint=targets[0].http,
        folder=folder.path,
        threads=spec.threads,
        operations=use.count_operations(spec.profile.phases.steady_s),
        shares={workload.operations[name].path: share for name, share in workload.mix.shares.items()},
    )
    return ToolJob(find_tool(use.name), task, workload.name, operations)


def read_tool_settings(use: ToolUse) -> Section:
    """Returns the settings in the type that the tool declares. Raises UsageError for an unknown tool or setting."""
    return from_settings(find_tool(use.name).settings, f"tool {use.name}", use.settings)


def _limit_of(workload: Workload, name: str) -> TimeLimit:
    limit = workload.operations[name].limit
    if isinstance(limit, TimeLimit):
        return limit
    return TimeLimit(good_s=workload.limits.good_s, tolerable_s=workload.limits.tolerable_s)


def refuse_unfit_tool(spec: RunSpec) -> None:
    """Raises UsageError for a run that a tool cannot make, and ServiceError where a tool is missing on this host."""
    for part in spec.parts:
        if part.workload.tool is None:
            continue
        _refuse_unfit_run(spec, part, part.workload.tool.name)
        read_tool_settings(part.workload.tool)
        kind = find_tool(part.workload.tool.name)
        _refuse_unfit_mix(part.workload, kind)
        refuse_missing(kind.name, kind.needs)


def _refuse_unfit_mix(workload: Workload, kind: ToolKind) -> None:
    shares = workload.mix.shares
    if not kind.played and len(shares) != 1:
        raise UsageError(
            f"`{workload.name}` has {len(shares)} operations in its mix, but the tool {kind.name} performs one at a "
            "time. Leave one share under [mix.shares], and add [mixes.NAME] for each other operation."
        )
    for path in (workload.operations[name].path for name in shares) if kind.played else ():
        if path not in kind.played:
            known = ", ".join(f"`{each}`" for each in sorted(kind.played))
            raise UsageError(
                f"`{workload.name}` has the path `{path}`, which the tool {kind.name} does not play. Use {known}."
            )


def _refuse_unfit_run(spec: RunSpec, part: WorkloadLoad, tool: str) -> None:
    phases = spec.profile.phases
    reasons = {
        "it starts a server of its own. Remove --target, --station or --nginx": not isinstance(spec.system, Reference),
        "it runs in real time only. Remove --virtual": spec.clock is Clock.VIRTUAL,
        "it runs on this host. Remove --fleet": spec.fleet is not None,
        "it runs alone. Remove --together": spec.together and len(spec.parts) > 1,
        "it runs as one process. Remove --drivers": spec.joining is not None,
        "it has clients, not arrivals. Use --sessions instead of --rate": not isinstance(part.load, Population),
        "it counts whole seconds. Use a steady state of whole seconds": phases.steady_s != int(phases.steady_s),
    }
    for reason, is_unfit in reasons.items():
        if is_unfit:
            raise UsageError(f"`{part.workload.name}` is a load of the tool {tool}: {reason}.")
