"""From words and files to the specification of a run."""

from collections.abc import Sequence
from pathlib import Path

from loadstone.cli.access import Access
from loadstone.cli.options import half_the_cores, make_system
from loadstone.model.errors import UsageError
from loadstone.model.load import Load, Population
from loadstone.model.profile import PROFILES
from loadstone.model.system import Clock, System
from loadstone.run.criteria import DriverLimits
from loadstone.run.spec import RunSpec, WorkloadLoad
from loadstone.study.file import StudyFile
from loadstone.workloads import load


def study_file(names: Sequence[str]) -> Path | None:
    """The study file among the words, if there is one; raises UsageError when there is more beside it."""
    files = [Path(name) for name in names if name.endswith(".toml") and Path(name).name != "workload.toml"]
    if files and len(names) > 1:
        raise UsageError("Give either one study file or workloads, not both.")
    return files[0] if files else None


def parts_of(names: Sequence[str], each: Load) -> tuple[WorkloadLoad, ...]:
    """The workloads of these names, each with the same load; raises UsageError."""
    loaded = [load(name) for name in names]
    labels = [workload.name for workload in loaded]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise UsageError(f"`{twice[0]}` is named twice. A run includes each workload once; profiles repeat it.")
    return tuple(WorkloadLoad(workload, each) for workload in loaded)


def with_companions(parts: tuple[WorkloadLoad, ...]) -> tuple[WorkloadLoad, ...]:
    """With the workloads that these are always played with, where they come as a number of sessions."""
    named = {part.workload.name for part in parts}
    brought = [
        WorkloadLoad(load(name), Population(max(1, round(ratio * part.load.sessions))))
        for part in parts
        for name, ratio in part.workload.header.companions.items()
        if name not in named and isinstance(part.load, Population)
    ]
    return (*parts, *brought)


def spec_of_file(study: StudyFile, name: str | None, results: Path) -> RunSpec:
    """The run that a study file declares; raises LoadstoneError."""
    wanted = study.profile
    profile = PROFILES[wanted.name].changed(
        ramp_up_s=wanted.ramp_up_s,
        warm_up_s=wanted.warm_up_s,
        steady_s=wanted.steady_s,
        ramp_down_s=wanted.ramp_down_s,
    )
    return RunSpec(
        name=name or study.name,
        parts=tuple(WorkloadLoad(load(entry.workload), entry.load()) for entry in study.loads),
        profile=profile.repeated(wanted.iterations or profile.iterations),
        seed=study.driver.seed,
        threads=study.driver.threads or half_the_cores(),
        system=_system(study),
        results=results,
        together=study.together,
        driver_limits=DriverLimits(
            study.driver.lag_share_pct / 100, study.driver.cpu_pct, study.driver.foreign_cpu_pct
        ),
        clock=Clock.VIRTUAL if study.virtual else Clock.REAL,
        placement=study.placement,
        agents=study.target.agents,
        notes=study.notes,
    )


def _system(study: StudyFile) -> System:
    station = study.station or study.nginx
    if station is not None:
        return station
    target = study.target
    access = Access(target.authority, target.verify, target.cert, target.key, target.addresses, target.source_addresses)
    return make_system(list(target.urls), access, study.server.threads, study.placement, study.server.services)
