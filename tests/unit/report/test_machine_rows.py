"""Rows of a machine in reports: CPU time by kind of thread, exits."""

from dataclasses import replace

from loadstone.model.records.manifest import MachineFacts
from loadstone.model.records.sample import MachineViews, OutsideView, Sample
from loadstone.report.sections.machines import list_machine_views

SAMPLE = Sample(0.0, 1.0, {}, {}, {}, {}, {}, {})


def rows_of(cores: dict[str, float], exits_per_s: float | None) -> dict[str, str]:
    """What the host saw of a machine, by title."""
    view = MachineViews(None, OutsideView(cores, {}, {}, exits_per_s))
    (machine,) = list_machine_views([replace(SAMPLE, machines={"web": view})])
    return {row.title: row.host for row in machine.rows}


def test_vhost_threads_and_exits_have_rows_of_their_own() -> None:
    rows = rows_of({"vcpu": 0.5, "device": 0.25, "vhost": 0.125}, 1200.0)
    assert (rows["of vhost threads"], rows["exits"], rows["CPU in all"]) == ("0.125", "1200", "0.875")


def test_a_machine_without_vhost_has_no_row_for_it() -> None:
    rows = rows_of({"vcpu": 0.5}, None)
    assert "of vhost threads" not in rows
    assert rows["exits"] == "not readable"


def test_the_share_of_a_link_is_that_of_its_busier_direction() -> None:
    lines = {"public": {"bytes_sent_per_s": 5e6, "bytes_recv_per_s": 1e6}, "private": {"bytes_sent_per_s": 9e9}}
    sample = replace(SAMPLE, machines={"web": MachineViews(None, OutsideView({"vcpu": 0.5}, {}, lines, None))})
    limited = MachineFacts("web", facts={"link_mbit_per_s": 100.0})
    (machine,) = list_machine_views([sample], {"web": limited})
    assert machine.rows[-1].title == "public link used, of 100 Mbit/s"
    assert (machine.rows[-1].host, machine.rows[-1].unit) == ("40", "%")
    (unlimited,) = list_machine_views([sample], {"web": MachineFacts("web")})
    assert "public link" not in unlimited.rows[-1].title


def test_each_of_several_public_links_has_its_rate_and_its_share() -> None:
    lines = {"public": {"bytes_sent_per_s": 5e6}, "public-2": {"bytes_recv_per_s": 2.5e6}, "private": {}}
    sample = replace(SAMPLE, machines={"web": MachineViews(None, OutsideView({"vcpu": 0.5}, {}, lines, None))})
    (machine,) = list_machine_views([sample], {"web": MachineFacts("web", facts={"link_mbit_per_s": 100.0})})
    assert [(row.title, row.host, row.unit) for row in machine.rows[-4:]] == [
        ("public link", "40", "Mbit/s"),
        ("public-2 link", "20", "Mbit/s"),
        ("public link used, of 100 Mbit/s", "40", "%"),
        ("public-2 link used, of 100 Mbit/s", "20", "%"),
    ]
