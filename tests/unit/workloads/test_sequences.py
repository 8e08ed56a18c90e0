"""Sequences with conditions and repeats, as they reach the driver and the judge."""

from pathlib import Path

import pytest

from loadstone.model.errors import StudyError
from loadstone.model.load import Population
from loadstone.model.profile import PROFILES, Phases
from loadstone.run.criteria import make_criteria
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
from loadstone.workloads import load
from loadstone.workloads.shares import compute_shares

SHOP = """
[workload]
name = "shop"
title = "A shop"
[pacing]
kind = "think"
mean_s = 1
[limits]
good_s = 1
tolerable_s = 2
[mix]
kind = "sequence"
sequence = ["list", "read", "pay"]
[mix.states]
read = { operation = "read", repeat = 3 }
pay = { operation = "pay", when = ["{basket}"] }
[values]
word = { kind = "choice", values = ["a"] }
[operations.list]
path = "/{word}"
extract = [{ value = "basket", field = "basket", optional = true }]
[operations.read]
path = "/read"
[operations.pay]
path = "/pay/{basket}"
"""


def workload(folder: Path, old: str = "", new: str = "") -> str:
    assert old in SHOP
    (folder / "workload.toml").write_text(SHOP.replace(old, new, 1))
    return str(folder)


def test_steps_come_as_often_as_declared_and_under_their_condition(tmp_path: Path) -> None:
    plan = make_plan([WorkloadLoad(load(workload(tmp_path)), Population(1))], Timing(Phases(0, 0, 1, 0), 1))
    planned = plan["parts"][0]["workload"]
    assert planned["mix"]["states"] == [0, 1, 1, 1, 2]
    assert [state["when"] for state in planned["states"]] == [[], [], ["{basket}"]]
    assert planned["operations"][0]["extract"][0]["optional"] is True


def test_shares_are_expected_only_where_no_answer_decides(tmp_path: Path) -> None:
    depends = load(workload(tmp_path))
    assert depends.is_conditional
    held_to = make_criteria(depends, PROFILES["quick"], Population(1), shipped=False)
    assert held_to.expected_shares == {}
    always = load(workload(tmp_path, ', when = ["{basket}"]', ""))
    assert not always.is_conditional
    assert compute_shares(always).operations == pytest.approx({"list": 0.2, "read": 0.6, "pay": 0.2})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{basket}", "{bskt}", "basket"),
        ('when = ["{basket}"]', 'when = ["{word}"]', "is generated before every operation"),
        ('when = ["{basket}"]', 'when = [""]', "is constant"),
        ('["list", "read", "pay"]', '["pay", "read", "list"]', "the first of a sequence always comes"),
        ("repeat = 3", "repeat = 0", "repeat"),
    ],
)
def test_what_cannot_be_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(StudyError) as raised:
        load(workload(tmp_path, old, new))
    assert said in " ".join(map(str, raised.value.problems))
