"""Control groups with limits and weights, in files of either version."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.model.errors import PlatformError
from loadstone.platforms import cgroup
from loadstone.platforms.cgroup import make_memory_group, make_weighted_group
from loadstone.platforms.journal import ResourceJournal


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ResourceJournal]:
    """A journal named `ls1`, and a folder in place of the hierarchies of control groups."""
    monkeypatch.setattr(cgroup, "CGROUP_ROOT", tmp_path / "cgroup")
    (tmp_path / "cgroup").mkdir()
    (tmp_path / "ls1").mkdir()
    with (tmp_path / "journal").open("w") as file:
        yield ResourceJournal(tmp_path / "ls1", 0, file)


def unify() -> None:
    (cgroup.CGROUP_ROOT / "cgroup.controllers").write_text("cpu io memory")


def split(*controllers: str) -> None:
    for controller in controllers:
        (cgroup.CGROUP_ROOT / controller).mkdir()


def test_a_weight_is_that_of_version_two(journal: ResourceJournal) -> None:
    unify()
    group = make_weighted_group(journal, "web", 300, None)
    assert (cgroup.CGROUP_ROOT / "cgroup.subtree_control").read_text() == "+cpu"
    assert (cgroup.CGROUP_ROOT / "ls1-web" / "cpu.weight").read_text() == "300"
    assert group.paths == (cgroup.CGROUP_ROOT / "ls1-web",)


def test_a_weight_of_version_one_is_relative_to_its_usual_weight(journal: ResourceJournal) -> None:
    split("cpu", "cpuacct", "blkio")
    group = make_weighted_group(journal, "web", 300, 50)
    assert (cgroup.CGROUP_ROOT / "cpu" / "ls1-web" / "cpu.shares").read_text() == str(3 * 1024)
    assert (cgroup.CGROUP_ROOT / "blkio" / "ls1-web" / "blkio.bfq.weight").read_text() == "50"
    assert [path.parent.name for path in group.paths] == ["cpuacct", "cpu", "blkio"]


def test_a_weight_that_the_kernel_lacks_is_refused(journal: ResourceJournal) -> None:
    split("cpuacct")
    with pytest.raises(PlatformError, match="Remove `cpu_weight` and `io_weight`"):
        make_weighted_group(journal, "web", 300, None)


@pytest.mark.parametrize(
    ("is_unified", "file"), [(True, "ls1-web/memory.max"), (False, "memory/ls1-web/memory.limit_in_bytes")]
)
def test_memory_has_a_limit_in_bytes(is_unified: bool, file: str, journal: ResourceJournal) -> None:
    if is_unified:
        unify()
    else:
        split("memory")
    make_memory_group(journal, "web", 64)
    assert (cgroup.CGROUP_ROOT / file).read_text() == str(64 << 20)
