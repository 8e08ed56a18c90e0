"""Every kind of value is documented with an example that holds."""

import re
from pathlib import Path

import pytest

from loadstone.model.errors import StudyError
from loadstone.model.load import Population
from loadstone.model.profile import Phases
from loadstone.model.target import Target
from loadstone.model.workload.values import Value
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
from loadstone.workloads import load

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "workload-file.md"
WORKLOAD = """
workload = {{ name = "mine", title = "Mine" }}
pacing = {{ kind = "think", mean_s = 1 }}
connections = {{ parallel = 1 }}
limits = {{ good_s = 1, tolerable_s = 2 }}
mix = {{ kind = "sequence", sequence = ["a"] }}
operations.a = {{ path = "/", method = "POST", form = {form} }}
{values}
"""


def written(tmp_path: Path, values: str, form: str = "{}") -> Path:
    (tmp_path / "workload.toml").write_text(WORKLOAD.format(form=form, values=values))
    return tmp_path


def planned(folder: Path) -> dict[str, dict[str, object]]:
    part = WorkloadLoad(load(str(folder)), Population(1), (Target.parse(["http://127.0.0.1:1"]),))
    (made,) = make_plan([part], Timing(Phases(0, 0, 1, 0), 1))["parts"]
    return {value["name"]: value for value in made["workload"]["values"]}


def test_the_page_of_values_has_an_example_of_every_kind(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "accounts.csv").write_text("user,password\nann,a\n")
    values = load(str(written(tmp_path, example))).values
    known = {kind.model_fields["kind"].annotation.__args__[0] for kind in Value.__args__[0].__args__}
    assert {value.kind for value in values.values()} == known


def test_unique_texts_are_others_in_each_run(tmp_path: Path) -> None:
    folder = written(tmp_path, '[values]\na = { kind = "unique", prefix = "x" }\nb = { kind = "uuid" }')
    first, second = planned(folder), planned(folder)
    assert {first["a"]["form"], first["b"]["form"]} == {"text", "uuid"}
    assert first["a"]["prefix"] == "x"
    salts = [made[name]["salt"] for made in (first, second) for name in "ab"]
    assert len(set(salts)) == 4


def test_what_is_wrong_with_a_value_is_named_by_its_place_once(tmp_path: Path) -> None:
    with pytest.raises(StudyError) as error:
        load(str(written(tmp_path, '[values]\nwords = { kind = "words" }', "{ a = 3 }")))
    told = str(error.value)
    assert "values.words.words: is missing" in told
    assert "operations.a.form.a: input should be a valid string" in told
    assert "dict[" not in told


def test_a_form_may_be_a_list_where_a_name_comes_twice(tmp_path: Path) -> None:
    form = '[["a", "1"], ["b", "two\\nlines"], ["a", "{target}/x"]]'
    workload = load(str(written(tmp_path, "", form)))
    (made,) = make_plan(
        [WorkloadLoad(workload, Population(1), (Target.parse(["https://shop.example"]),))],
        Timing(Phases(0, 0, 1, 0), 1),
    )["parts"]
    fields = [(field["name"], field["value"]) for field in made["workload"]["operations"][0]["form"]]
    assert fields == [("a", "1"), ("b", "two\nlines"), ("a", "https://shop.example/x")]
