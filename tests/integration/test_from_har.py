"""A visit recorded by a real browser becomes a workload that runs against the site it was recorded on."""

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.integration.conftest import (
    CHROMIUM,
    OPTIONS,
    LoadstoneRunner,
    newest,
    report,
    require_requests,
    rows,
    run_until,
)
from tests.integration.test_own_site import nginx  # noqa: F401  the example's server
from tests.verdicts import WINDOW, broken_rules

pytestmark = pytest.mark.integration


def record(site: str, file: Path) -> None:
    """Visits three pages of the example's site, one of them twice, and saves the HAR."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        context = browser.new_context(record_har_path=str(file), record_har_content="embed")
        page = context.new_page()
        for path in ("/", "/granite.html", "/", "/basalt.html"):
            page.goto(site + path)
            page.wait_for_timeout(400)
        context.close()
        browser.close()


@pytest.mark.slow("a recording by a browser, and a run")
def test_a_recorded_visit_becomes_a_workload(nginx: str, loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:  # noqa: F811
    record(nginx, tmp_path / "visit.har")
    done = loadstone_here("workloads", "from-har", "visit.har", "-o", "mine")
    assert done.returncode == 0, done.stderr
    assert "3 operations" in done.stdout
    assert loadstone_here("workloads", "check", "mine").returncode == 0
    text = (tmp_path / "mine" / "workload.toml").read_text()
    assert 'title = "The stone yard"' in text
    assert "/style.css" in text
    words = ("run", "mine", "--target", nginx, "--sessions", "100", *WINDOW)
    done = run_until(loadstone_here, tmp_path, require_requests(1, "home", "granite_html", "basalt_html"), *words)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    operations = rows(report(tmp_path))
    assert set(operations) == {"home", "granite_html", "basalt_html", "Total"}
    assert operations["Total"]["errors"] == 0
    assert loadstone_here("workloads", "from-har", "visit.har", "-o", "mine").returncode == 2  # nothing is overwritten
