"""A web server's sizing tests as a pure question, on servers whose capacity is known."""

import random
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from loadstone.model.choices import ServiceChoices
from loadstone.model.errors import ServiceError, UsageError
from loadstone.model.profile import PROFILES
from loadstone.model.service import Mechanism, Tuning
from loadstone.model.system import Reference
from loadstone.model.workload import ServerNeeds
from loadstone.page.blocks import Gallery
from loadstone.page.plot import Plot
from loadstone.services import php
from loadstone.services.kind import Site
from loadstone.services.registry import refuse_unfit
from loadstone.study.kind import StudyContext
from loadstone.study.kinds.suite.answer import (
    SuiteAnswer,
    compute_efficiencies,
    compute_mechanism_ratios,
    compute_tls_costs,
    compute_tuning_differences,
    find_contradictions,
)
from loadstone.study.kinds.suite.page import render_blocks
from loadstone.study.kinds.suite.published import PUBLISHED_TESTS, compute_published_ratio, compute_published_tls_cost
from loadstone.study.kinds.suite.question import make
from loadstone.study.kinds.suite.section import SuiteSection
from loadstone.study.summary import RunRequest, RunSummary
from loadstone.workloads import load
from tests.made import carry_out, made

CAPACITY = {"static": 10_000.0, "module": 8_000.0, "servlet": 5_000.0, "c-cgi": 800.0, "perl-cgi": 300.0}
TUNED, TLS = 1.3, 2.0
"""What tuning brings and TLS costs of the server made up here."""
ALONE_S = 0.01
"""Response time of its first clients."""


def serving(noise: float = 0.0, driver: float = float("inf"), broken: str = "") -> Callable[[RunRequest], RunSummary]:
    """Clients without pause: as many answers as they ask for, up to the capacity (asymptotic bounds)."""
    chance = random.Random(7)

    def play(request: RunRequest) -> RunSummary:
        at = request.settings
        capacity = CAPACITY[str(at["mechanism"])] * float(str(at["server.cores"]))
        capacity *= TUNED if at["tuning"] == "tuned" else 1.0
        capacity /= TLS if at["tls"] else 1.0
        clients = request.load if "sessions" in at else float("inf")
        throughput = min(capacity * (1 + chance.gauss(0, noise)), clients / ALONE_S, driver)
        metrics = {"throughput": throughput, "response_mean": clients / throughput if "sessions" in at else ALONE_S}
        metrics["server_cpu"] = throughput / capacity * float(str(at["server.cores"]))
        if at["mechanism"] == broken:
            metrics["errors"] = 2.0
        verdict = "invalid" if throughput == driver else "pass"
        return made(request, verdict, driver_bound=throughput == driver, **metrics)

    return play


def found(workload: str, play: Callable[[RunRequest], RunSummary], **asked: object) -> tuple[SuiteAnswer, int]:
    section = SuiteSection.model_validate({"server": ["apache"], **asked})
    question = make(section, StudyContext(load(workload), PROFILES["brief"], None))
    answer, runs = carry_out(question, play, most=500)
    assert answer.is_answered
    assert question.estimate_left(runs) == 0
    return answer, len(runs)


def test_clients_are_doubled_until_a_server_is_full() -> None:
    answer, _ = found("static-files", serving(), tuning=["default"])
    plain, secure = answer.cells
    assert (plain.clients, plain.mean, plain.is_full) == (100, 10_000, True)
    assert (secure.clients, secure.mean) == (50, 5_000)
    assert plain.waiting == pytest.approx(100)
    short, runs = found("static-files", serving(), tuning=["default"], doublings=0)
    assert (short.cells[0].mean, short.cells[0].is_full, runs) == (5_000, False, 2)
    assert "CPU to spare" in " ".join(short.headline)


def test_ratios_are_those_of_the_capacities() -> None:
    answer, _ = found("printenv", serving(), cores=[1, 2])
    costs = {one.over.cell.mechanism: one.value for one in compute_tls_costs(answer.cells)}
    assert costs == {mechanism: pytest.approx(TLS, rel=0.05) for mechanism in costs} and len(costs) == 3
    faster = [one for one in compute_mechanism_ratios(answer.cells) if one.over.cell.mechanism is Mechanism.MODULE]
    assert [one.value for one in faster] == pytest.approx([10.0] * 8, rel=0.05)
    assert [each for _, each in compute_efficiencies(answer.cells)] == pytest.approx([1.0] * 12, rel=0.05)
    assert list(find_contradictions(answer.cells)) == []


def test_what_the_driver_held_or_was_in_error_is_in_no_ratio() -> None:
    answer, _ = found("printenv", serving(driver=2_000.0), tuning=["default"])
    bound = [cell for cell in answer.cells if cell.is_driver_bound]
    assert {cell.cell.mechanism for cell in bound} == {Mechanism.MODULE}
    assert "The driver was the limit in 2" in " ".join(answer.headline)
    assert all(one.value is None for one in compute_tls_costs(bound))
    wrong, _ = found("printenv", serving(broken="perl-cgi"), tuning=["default"])
    assert "Nothing follows from apache-perl-cgi-default-1: 2 % of its operations in error" in " ".join(wrong.headline)


def test_an_order_that_is_not_the_published_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CAPACITY, "perl-cgi", 900.0)
    answer, _ = found("printenv", serving(), tuning=["default"])
    (said, *_) = find_contradictions(answer.cells)
    assert "c-cgi gives 0.89 times the throughput of perl-cgi" in said
    assert said in answer.headline


@pytest.mark.parametrize(("rounds", "noise", "is_found"), [(4, 0.01, False), (5, 0.01, True), (8, 3.0, False)])
def test_a_difference_of_tunings_takes_runs_enough_and_more_than_their_scatter(
    rounds: int, noise: float, is_found: bool
) -> None:
    answer, _ = found("static-files", serving(noise), rounds=rounds, doublings=2)
    differences = compute_tuning_differences(answer.cells)
    assert [one.is_found for one in differences] == [is_found] * 2
    assert (differences[0].p is None) == (rounds < 5)


def test_arrivals_come_at_a_share_of_what_was_found() -> None:
    section = SuiteSection.model_validate({"server": ["apache"], "tuning": ["default"], "open_pct": 50})
    question = make(section, StudyContext(load("static-files"), PROFILES["brief"], None))
    answer, runs = carry_out(question, serving())
    rates = [run.request.load for run in runs if "rate" in run.request.settings]
    assert rates == [pytest.approx(10_000 / 2 / 100), pytest.approx(5_000 / 2 / 100)]
    assert answer.cells[0].open_response_s == ALONE_S


def test_published_figures_are_those_of_the_tables() -> None:
    known = {one: round(test.efficiency, 3) for one, test in PUBLISHED_TESTS.items()}
    assert (min(known.values()), max(known.values())) == (0.867, 0.992)
    costs = [Mechanism.STATIC, Mechanism.MODULE, Mechanism.C_CGI, Mechanism.PERL_CGI]
    assert [round(compute_published_tls_cost(one) or 0, 2) for one in costs] == [4.07, 2.31, 1.09, 1.05]
    assert round(compute_published_ratio(Mechanism.MODULE, Mechanism.C_CGI), 1) == 7.9
    assert round(compute_published_ratio(Mechanism.C_CGI, Mechanism.PERL_CGI), 2) == 2.66
    assert round(compute_published_ratio(Mechanism.PHP_MODULE, Mechanism.PHP_FASTCGI), 2) == 1.05
    fifty_a_core = [test for test in PUBLISHED_TESTS.values() if abs(test.clients[0] - 100) < 1]
    assert len(fifty_a_core) == 7


def test_a_report_shows_every_cell_and_the_published_rows() -> None:
    answer, _ = found("printenv", serving(), cores=[1, 2], rounds=4, doublings=1)
    shown = list(render_blocks(answer, None, ()))  # type: ignore[arg-type]
    text = repr(shown)
    assert all(cell.cell.title in text for cell in answer.cells)
    assert "never absolute values" in text
    assert "6-8" in text


def test_throughput_is_drawn_over_cores_for_each_test() -> None:
    answer, _ = found("printenv", serving(), cores=[1, 2], doublings=1)
    (gallery,) = (block for block in render_blocks(answer, None, ()) if isinstance(block, Gallery))  # type: ignore[arg-type]
    curves = {figure.title: figure.plot for figure in gallery.figures if isinstance(figure.plot, Plot)}
    assert set(curves) == {cell.cell.test for cell in answer.cells if cell.is_sound}
    for test, plot in curves.items():
        means = {(cell.cell.cores, cell.mean) for cell in answer.cells if cell.cell.test == test and cell.is_sound}
        assert {(row["x"], row["y"]) for row in plot.lines} == means


@pytest.mark.parametrize("workload", ["banking", "static"])
def test_a_workload_that_is_no_web_servers_is_refused(workload: str) -> None:
    with pytest.raises(UsageError, match="is not a web server test"):
        make(SuiteSection(), StudyContext(load(workload), PROFILES["brief"], None))


def test_static_files_have_the_published_mean_and_classes() -> None:
    value = load("static-files").values["file"]
    sizes = [float(row[2]) for row in value.rows]
    assert value.weights is not None
    mean = sum(size * weight for size, weight in zip(sizes, value.weights, strict=True)) / 1024
    assert mean == pytest.approx(14.7, abs=0.1)
    classes = [sum(value.weights[at : at + 9]) for at in range(0, 36, 9)]
    assert classes == pytest.approx([0.35, 0.5, 0.14, 0.01], rel=1e-4)


@pytest.mark.parametrize("askers", [1, 4, 32])
def test_kept_connections_leave_half_of_phps_children(askers: int) -> None:
    site = Site("/f", "10.0.0.1", tuning=Tuning.TUNED)
    assert 1 <= php.compute_kept_connections(site, askers) * askers <= php.find_settings(site).children / 2


def test_more_servers_than_children_are_refused() -> None:
    site = Site("/f", "10.0.0.1", tuning=Tuning.TUNED, settings={"php": {"children": 8}})
    assert php.compute_kept_connections(site, 4) == 1
    with pytest.raises(ServiceError, match="5 server processes that keep connections to 8 PHP children would starve"):
        php.compute_kept_connections(site, 5)


def test_a_server_whose_answers_break_with_more_clients_is_not_called_full() -> None:
    def play(request: RunRequest) -> RunSummary:
        broken = request.load > 50
        figures = {"throughput": 400.0 if broken else 500.0, "server_cpu": 0.6, "response_mean": 0.1}
        return made(request, "fail" if broken else "pass", **figures, **({"errors": 4.0} if broken else {}))

    answer, _ = found("static-files", play, tuning=["default"])
    assert [(cell.clients, cell.is_full) for cell in answer.cells] == [(50, False)] * 2
    assert any("lower bound" in line for line in answer.headline)


def test_programs_that_end_uncounted_leave_the_cpu_unknown() -> None:
    def play(request: RunRequest) -> RunSummary:
        return replace(serving()(request), misses_ended=True)

    answer, _ = found("printenv", play, tuning=["default"])
    known = {cell.cell.mechanism: cell.cpu_share is not None for cell in answer.cells}
    assert known == {Mechanism.MODULE: True, Mechanism.C_CGI: False, Mechanism.PERL_CGI: False}


def test_settings_that_change_nothing_are_no_cells() -> None:
    section = SuiteSection.model_validate({"server": ["embedded"]})
    question = make(section, StudyContext(load("printenv"), PROFILES["brief"], None))
    tunings = {cell.tuning for cell in question.cells if cell.mechanism is Mechanism.MODULE}
    assert tunings == {Tuning.DEFAULT}
    assert {cell.tuning for cell in question.cells if cell.mechanism is Mechanism.C_CGI} == set(Tuning)


@pytest.mark.parametrize(
    ("web", "need", "why"),
    [
        ("embedded", "web", "`embedded` has no tuned settings. These have: apache-mod-php"),
        ("embedded", "webserver", "no tuned settings for module"),
        (
            "embedded",
            "mail",
            "A tuning applies to workloads of kind web, application, bookstore, events, webserver;",
        ),
    ],
)
def test_a_tuning_that_nothing_applies_is_refused(web: str, need: str, why: str) -> None:
    system = Reference(1, ServiceChoices(service=web, tuning=Tuning.TUNED, mechanism=Mechanism.MODULE))
    with pytest.raises(UsageError, match=re.escape(why)):
        refuse_unfit(system, ServerNeeds(need=need, mechanisms=(Mechanism.MODULE,)))
