"""From words and files to the order of a run."""

from collections.abc import Sequence
from pathlib import Path

import typer

from loadstone.cli.options import half_the_cores, make_system
from loadstone.model.errors import UsageError
from loadstone.model.load import Load, Population
from loadstone.model.profile import PROFILES
from loadstone.model.study import StudyFile
from loadstone.model.system import Clock, System
from loadstone.run.criteria import Fitness
from loadstone.run.runner import Played, RunOrder
from loadstone.workloads import load

IN_A_FILE = (
    *("profile", "target", "authority", "insecure", "station", "nginx", "virtual", "seed", "steady"),
    *("platform", "machine", "backend"),
)
"""Options whose matter a study file says."""


def study_file(names: Sequence[str]) -> Path | None:
    """The study file among the words, if there is one; raises UsageError when there is more beside it."""
    files = [Path(word) for word in names if word.endswith(".toml") and Path(word).name != "workload.toml"]
    if files and len(names) > 1:
        raise UsageError("Give either one study file or workloads, not both.")
    return files[0] if files else None


def refuse_beside_a_file(context: typer.Context, *options: str) -> None:
    """What a study file says is not said again on the command line."""
    for option in options:
        source = context.get_parameter_source(option)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(f"--{option.replace('_', '-')} does not go with a study file. Write it in the file.")


def parts_of(names: Sequence[str], each: Load) -> tuple[Played, ...]:
    """The workloads of these names, each with the same load; raises UsageError."""
    loaded = [load(name) for name in names]
    twice = {one.name for one in loaded if [other.name for other in loaded].count(one.name) > 1}
    if twice:
        raise UsageError(f"`{twice.pop()}` is named twice. A run plays each workload once; profiles repeat it.")
    return tuple(Played(workload, each) for workload in loaded)


def with_companions(parts: tuple[Played, ...]) -> tuple[Played, ...]:
    """With the workloads that these are always played with, where they come as a number of sessions."""
    named = {part.workload.name for part in parts}
    brought = []
    for part in parts:
        for name, ratio in part.workload.header.companions.items():
            if name not in named and isinstance(part.load, Population):
                brought.append(Played(load(name), Population(max(1, round(ratio * part.load.sessions)))))
    return (*parts, *brought)


def order_of(
    study: StudyFile, name: str | None, threads: int | None, server_threads: int | None, results: Path
) -> RunOrder:
    """The order that a study file gives; raises LoadstoneError."""
    wanted = study.profile
    profile = PROFILES[wanted.name].changed(
        ramp_up_s=wanted.ramp_up_s,
        warm_up_s=wanted.warm_up_s,
        steady_s=wanted.steady_s,
        ramp_down_s=wanted.ramp_down_s,
    )
    profile = profile.repeated(wanted.iterations or profile.iterations)
    return RunOrder(
        name=name or study.name,
        parts=tuple(Played(load(entry.workload), entry.load()) for entry in study.loads),
        profile=profile,
        seed=study.driver.seed,
        threads=threads or study.driver.threads or half_the_cores(),
        system=_system(study, server_threads),
        results=results,
        together=study.together,
        fitness=Fitness(study.driver.lag_share_pct / 100, study.driver.cpu_pct),
        clock=Clock.VIRTUAL if study.virtual else Clock.REAL,
        placement=study.placement,
    )


def _system(study: StudyFile, server_threads: int | None) -> System:
    given = study.station or study.nginx
    if given is not None:
        return given
    target = study.target
    threads = server_threads or study.server.threads
    return make_system(list(target.urls), target.authority, target.verify, threads, None, study.placement)
