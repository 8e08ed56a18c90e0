"""Pictures of hosts beside this one: a few are shown, of many one and the rest folded."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from loadstone.page.blocks import Fold, Gallery
from loadstone.report.section import IterationContext
from loadstone.report.sections import resources


def context(hosts: int) -> IterationContext:
    """An iteration of which agents on so many hosts tell, and nobody else."""
    view = SimpleNamespace(
        running=1.0, cpu_cores={"user": 0.5}, pressure={}, memory_bytes={}, groups=(), network={}, disk={}
    )
    machines = {f"h{number}": SimpleNamespace(inside=view) for number in range(hosts)}
    samples = [SimpleNamespace(unix_s=float(at), seconds=1.0, machines=machines) for at in (1, 2)]
    iteration = SimpleNamespace(records=SimpleNamespace(monitor=samples))
    told: Any = SimpleNamespace(
        workload=SimpleNamespace(id=SimpleNamespace(kind=None)),
        report=SimpleNamespace(pictures_each=True),
        iteration=iteration,
    )
    return cast(IterationContext, told)


@pytest.mark.parametrize(("hosts", "folded"), [(0, 0), (2, 0), (3, 3), (9, 9)])
def test_many_hosts_are_folded(hosts: int, folded: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def figures(iteration: object, beside: list[Any]) -> list[Any]:
        shown.extend(figure.title for figure in beside)
        return beside

    monkeypatch.setattr(resources, "_figures", figures)
    made = list(resources.render_blocks(context(hosts)))
    folds = [block for block in made if isinstance(block, Fold)]
    assert [block.summary for block in folds] == [f"Host h{number}" for number in range(folded)]
    assert all(isinstance(fold.blocks[0], Gallery) for fold in folds)
    assert ("CPU of all hosts" in shown) == bool(folded)
    assert ("CPU of h0" in shown) == (0 < hosts <= resources.MOST_UNFOLDED)
