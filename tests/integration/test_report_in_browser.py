"""The report as people see it: in Chromium, light and dark, wide and narrow; nothing is fetched from elsewhere."""

import json
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.integration.conftest import LoadstoneRunner, newest, require_requests, run_command, run_until
from tests.integration.test_own_site import nginx  # noqa: F401  the example's server
from tests.verdicts import WINDOW, broken_rules

pytestmark = [pytest.mark.integration, pytest.mark.slow("commands and a browser start")]

CUT = (
    "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth && one.clientWidth)"
    ".map((one) => one.innerText.slice(0, 60))"
)
"""What begins tables that are wider than their place."""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of a run, with its report. Made before the browser, which has the event loop then."""
    folder = tmp_path_factory.mktemp("support")
    words = ("run", "support", "--sessions", "150", *WINDOW)
    done = run_until(partial(run_command, folder), folder, require_requests(10), *words, has_report=True)
    assert broken_rules(newest(folder)) == [], done.stdout + done.stderr
    return newest(folder)


def test_the_report_is_legible_everywhere(result: Path, browser: Browser) -> None:
    verdict = json.loads((result / "verdict.json").read_text())["workloads"][0]["verdict"]
    address = (result / "report.html").as_uri()
    paper = {}
    for scheme in ("light", "dark"):
        for width in (1280, 400):
            page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
            asked: list[str] = []
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto(address)
            assert asked == [address]
            assert page.locator(".verdict strong").inner_text().lower() == verdict
            assert page.locator("figure svg").count() >= 8
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow <= 0, f"the page is {overflow} px too wide at {width}"
            colors = page.evaluate(
                "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,"
                " getComputedStyle(document.querySelector('figure svg text')).fill]"
            )
            paper[scheme] = colors[0]
            assert colors[1] == colors[2], "charts take the page's text color"
            page.close()
    assert paper["light"] != paper["dark"]
    on_paper = browser.new_page(viewport={"width": 1047, "height": 720})  # A4 across, less its margins
    on_paper.goto(address)
    assert not on_paper.locator("details td").first.is_visible()
    on_paper.emulate_media(media="print")
    assert on_paper.locator("details td").first.is_visible(), "what is folded is printed"
    right = "Math.max(...[...document.querySelectorAll('table')].map((one) => one.getBoundingClientRect().right))"
    assert on_paper.evaluate(right) <= 1047, "no column is cut off"
    on_paper.close()


@pytest.mark.slow("a run")
def test_of_a_site_that_is_not_ours_no_table_is_cut_off(
    browser: Browser,
    nginx: str,  # noqa: F811
    loadstone: LoadstoneRunner,
    tmp_path: Path,
) -> None:
    words = ("run", f"{nginx}/", "--sessions", "5", "--seconds", "2", "--warm-up", "0.5")
    done = run_until(loadstone, tmp_path, require_requests(1), *words, has_report=True)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((newest(tmp_path) / "report.html").as_uri())
    assert not page.evaluate(CUT)
    page.set_viewport_size({"width": 400, "height": 900})
    page.evaluate("document.querySelector('.dense').parentElement.scrollLeft = 200")
    name = page.locator(".dense td").first.bounding_box()
    assert name and name["x"] >= 0, "the operation's name stays in sight"
    page.close()
