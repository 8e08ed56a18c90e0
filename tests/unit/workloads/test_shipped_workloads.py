"""The shipped workloads say what the published figures say."""

from pathlib import Path

import pytest

from loadstone.model.load import Population
from loadstone.model.profile import PROFILES
from loadstone.model.workload import Pacing
from loadstone.model.workload.operation import EmbeddedFile
from loadstone.model.workload.values import TableValues
from loadstone.run.criteria import compute_mean_pause_s, make_criteria
from loadstone.run.plan import plan_embedded_files
from loadstone.workloads import is_unchanged, list_shipped, load
from loadstone.workloads.shares import compute_shares
from tests import published

WORKLOADS = ("banking", "shopping", "support")


def test_the_three_web_sites_are_shipped() -> None:
    assert set(WORKLOADS) <= set(list_shipped())


@pytest.mark.parametrize("workload", list_shipped())
def test_every_shipped_workload_is_read_without_a_problem(workload: str) -> None:
    assert load(workload).name == workload


@pytest.mark.parametrize("workload", WORKLOADS)
def test_stationary_shares_are_the_configured_ones(workload: str) -> None:
    mix = compute_shares(load(workload)).operations
    # The bank's chain misses its configured mix by up to 0.07 points, the shop's by 0.017, the support site's by 0.003.
    slack = {"banking": 0.1, "shopping": 0.02, "support": 0.005}[workload]
    for page in published.pages(workload):
        expected = published.figure(workload, "share", page, "config expected")
        assert 100 * mix[page] == pytest.approx(expected, abs=slack), page


@pytest.mark.parametrize(("workload", "pages"), [("banking", 4.645), ("shopping", 12.38), ("support", 14.80)])
def test_pages_per_session_are_the_published_ones(workload: str, pages: float) -> None:
    assert compute_shares(load(workload)).operations_per_session == pytest.approx(pages, rel=0.001)


def test_sessions_end_as_published() -> None:
    assert compute_shares(load("banking")).finished == pytest.approx(0.286, abs=0.001)
    assert compute_shares(load("support")).finished == pytest.approx(1.0)


@pytest.mark.parametrize(("workload", "share"), [("banking", 0.6158), ("shopping", 0.9194), ("support", 0.9324)])
def test_think_time_precedes_the_published_share_of_pages(workload: str, share: float) -> None:
    assert compute_shares(load(workload)).paused == pytest.approx(share, abs=0.001)


@pytest.mark.parametrize(
    ("workload", "files", "not_modified"),
    [("banking", 10.49, 3.57), ("shopping", 15.14, 2.95), ("support", 18.83, 12.75)],
)
def test_embedded_files_per_average_page(workload: str, files: float, not_modified: float) -> None:
    declared = load(workload)
    mix = compute_shares(declared).operations
    sized = {
        name: [file for file in plan_embedded_files(declared, operation) if file["bytes"] is not None]
        for name, operation in declared.operations.items()
    }
    assert sum(mix[name] * len(held) for name, held in sized.items()) == pytest.approx(files, abs=0.03)
    conditional = sum(mix[name] * sum(file["conditional"] for file in held) for name, held in sized.items())
    assert conditional == pytest.approx(not_modified, abs=0.02)


def test_a_login_page_embeds_the_published_bytes() -> None:
    files = plan_embedded_files(load("banking"), load("banking").operations["login"])
    assert sum(file["bytes"] for file in files) == 42168
    assert sum(file["bytes"] * (1 - file["conditional"]) for file in files) == pytest.approx(27107, abs=1)


def test_a_run_is_held_to_the_declared_share_of_conditional_requests() -> None:
    declared = make_criteria(load("banking"), PROFILES["full"], Population(10), shipped=True).conditional_shares
    files = plan_embedded_files(load("banking"), load("banking").operations["login"])
    assert declared["login"] == sum(file["conditional"] for file in files) / len(files) > 0
    with_caches = load("events")
    assert with_caches.connections.warm_caches is not None
    assert not make_criteria(with_caches, PROFILES["full"], Population(10), shipped=True).conditional_shares


def test_product_images_are_embedded_where_the_bytes_show_them() -> None:
    with_image = {
        name
        for name, operation in load("shopping").operations.items()
        if any(isinstance(file, EmbeddedFile) for file in operation.embedded)
    }
    assert with_image == {"search", "browse_productline", "productdetail", "customize3"}


def test_downloads_have_the_published_mean() -> None:
    table = load("support").values["download"]
    assert isinstance(table, TableValues)
    assert table.weights is not None
    sizes, weights = [int(row[2]) for row in table.rows], table.weights
    mean = sum(size * weight for size, weight in zip(sizes, weights, strict=True)) / sum(weights)
    assert mean == pytest.approx(6_918_596, rel=0.0005)


def test_the_longest_download_takes_377_seconds_on_the_line() -> None:
    made = make_criteria(load("support"), PROFILES["full"], Population(100), shipped=True)
    assert made.longest_operation_s == pytest.approx(377.5, abs=0.1)


def test_the_cap_hardly_changes_the_mean_pause() -> None:
    assert compute_mean_pause_s(load("banking").pacing) == pytest.approx(10, rel=1e-5)


@pytest.mark.parametrize(
    ("distribution", "mean"), [("exponential", 10 * (1 - 2.718281828**-1.2)), ("uniform", 8.4), ("fixed", 10.0)]
)
def test_a_cap_lowers_the_mean_pause_of_every_distribution(distribution: str, mean: float) -> None:
    pacing = Pacing(kind="think", distribution=distribution, mean_s=10, cap_s=12)  # type: ignore[arg-type]
    assert compute_mean_pause_s(pacing) == pytest.approx(mean)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_declarations_are_those_that_were_released(workload: str) -> None:
    assert is_unchanged(workload), "if the change is meant: make checksums"


def test_a_start_without_a_pause_is_not_counted_twice(tmp_path: Path) -> None:
    text = (
        '[workload]\nname = "x"\ntitle = "x"\n[pacing]\nkind = "think"\nmean_s = 1\nno_pause_before = ["a"]\n'
        '[limits]\ngood_s = 1\ntolerable_s = 2\n[mix]\nkind = "sequence"\nsequence = ["a", "b"]\n'
        '[operations.a]\npath = "/"\n[operations.b]\npath = "/"\n'
    )
    (tmp_path / "workload.toml").write_text(text)
    assert compute_shares(load(str(tmp_path))).paused == pytest.approx(0.5)
