"""Which workloads a command runs: those that it names, or those of one study file."""

from collections.abc import Sequence
from pathlib import Path

from loadstone.model.errors import UsageError
from loadstone.model.load import Population
from loadstone.run.spec import WorkloadLoad
from loadstone.workloads import load


def find_study_file(names: Sequence[str]) -> Path | None:
    """The study file among the words, if there is one; raises UsageError when there is more beside it."""
    files = [Path(name) for name in names if name.endswith(".toml") and Path(name).name != "workload.toml"]
    if files and len(names) > 1:
        raise UsageError("Give either one study file or workloads, not both.")
    return files[0] if files else None


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
