"""A stock application, recorded twice by a real browser, is imported and played without a hand edit."""

import json
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.integration.applications import Application, django_admin
from tests.integration.conftest import CHROMIUM, OPTIONS, LoadstoneRunner, report, rows

pytestmark = pytest.mark.integration


def administer(page: Page, site: str) -> None:
    """Logs in, looks at the users and at one of them, logs out."""
    page.goto(f"{site}/admin/")
    page.wait_for_timeout(300)
    page.fill("#id_username", "ann")
    page.fill("#id_password", "granite-and-basalt")
    page.click("input[type=submit]")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)
    page.click("text=Users")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)
    page.click("#logout-form button")
    page.wait_for_load_state("networkidle")


def record(application: Application, file: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        context = browser.new_context(record_har_path=str(file), record_har_content="embed")
        administer(context.new_page(), application.site)
        context.close()
        browser.close()


def test_a_log_in_with_a_token_is_played_as_it_was_recorded(loadstone: LoadstoneRunner, tmp_path: Path) -> None:
    with django_admin(tmp_path) as application:
        record(application, tmp_path / "a.har")
        record(application, tmp_path / "b.har")
        done = loadstone("workloads", "from-har", "a.har", "b.har", "-o", "mine", "--verify", application.site)
        assert done.returncode == 0, done.stderr
        told = " ".join(done.stdout.split())
        assert "Values taken from answers" in told
        assert "both recordings" in told
        assert "verified: 2 fresh users at once went through" in told
        assert "needless" not in told
        before = len(application.requests())
        done = loadstone("try", "mine", "--target", application.site, "--trace", "visit.har")
        assert done.returncode == 0, done.stdout + done.stderr
        sent = json.loads((tmp_path / "visit.har").read_text())["log"]["entries"]
        asked = [f"{one['request']['method']} {one['request']['url'].removeprefix(application.site)}" for one in sent]
        seen = Counter(application.requests()[before:])
        assert Counter(asked) <= seen
        learned = seen - Counter(asked)  # the preflight, and dates of files that browsers had before
        assert set(learned.values()) == {1}
        assert all(one.startswith(("HEAD /admin/", "GET /static/")) for one in learned)
        words = ["--sessions", "3", "--profile", "demo", "--results", "results"]
        done = loadstone("run", "mine", "--target", application.site, *words)
        assert done.returncode in (0, 1, 3), done.stdout + done.stderr  # as fast as the machine is
        operations = rows(report(tmp_path))
        assert operations["Total"]["requests"] > 3
        assert operations["Total"]["errors"] == 0
