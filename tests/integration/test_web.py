"""The web page in a real browser: list, run, study, side by side, live; in the light and the dark, wide and narrow."""

import contextlib
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from loadstone.host.http import find_free_port
from loadstone.model.records.events import Interval
from loadstone.model.records.result import Result
from loadstone.store.read import read_result
from loadstone.web.listing import PAGE
from tests.integration.conftest import LoadstoneRunner, command, run_command, wait_until
from tests.integration.test_report_in_browser import CUT
from tests.verdicts import WINDOW
from tests.waiting import LONGEST_S

pytestmark = pytest.mark.integration

expect.set_options(timeout=60_000)  # a busy host may let a browser wait for longer than its usual five seconds
STATION = ("--station", "workers=4,service=0.004", "--profile", "demo")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of two runs and of a sweep. Made before the browser, which has the event loop then."""
    folder = tmp_path_factory.mktemp("shelf")
    for rate in ("300", "600"):
        run_command(folder, "run", "static", "--rate", rate, "--virtual", "--name", f"run-{rate}", *STATION)
    run_command(folder, "sweep", "static", "--over", "rate=100,500,900", "--virtual", "--name", "curve", *STATION)
    return folder


@pytest.fixture
def run_of_shelf(shelf: Path, tmp_path: Path) -> Path:
    """The copy of a run's result in the test's folder."""
    (result,) = (shelf / "results").glob("*run-300")
    return Path(shutil.copytree(result, tmp_path / "results" / result.name))


@contextlib.contextmanager
def served(folder: Path, *words: str) -> Iterator[str]:
    """The page over `results` in a folder; gone at the end."""
    port = find_free_port()
    process = subprocess.Popen(command("serve", "--listen", f"127.0.0.1:{port}", *words), cwd=folder)
    try:
        wait_until(lambda: _listens(port), "the page is served")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=LONGEST_S)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@contextlib.contextmanager
def opened(browser: Browser, width: int = 1280, scheme: str = "light") -> Iterator[Page]:
    """A page on which nothing may go wrong."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    try:
        yield page
    finally:
        page.close()
    assert not wrong, wrong


def status(url: str, **headers: str) -> int:
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.slow("a browser goes through all pages twice")
def test_the_page_shows_results_studies_and_two_runs_side_by_side(shelf: Path, browser: Browser) -> None:
    with served(shelf) as address:
        for width, scheme in ((1280, "light"), (400, "dark")):
            with opened(browser, width, scheme) as page:
                look_around(page, address, width)


def look_around(page: Page, address: str, width: int) -> None:
    """From the list by filter and choice to every other page; none is wider than the window."""

    def fits() -> bool:
        return bool(page.evaluate("document.documentElement.scrollWidth") <= width)

    page.goto(address)
    expect(page.locator("table tr")).to_have_count(4)
    assert "4 results" not in page.inner_text("form.filter") and "3 results" in page.inner_text("form.filter")
    fastest = page.locator("tr", has_text="run-600").locator("td").all_text_contents()
    assert 500 < float(fastest[4]) < 700 and 0 < float(fastest[5]) < 100 and fastest[6] == "0.00", fastest
    assert fits()
    page.fill("input[name=words]", "run-300 pass")
    page.click("text=filter")
    expect(page.locator("table tr")).to_have_count(2)
    page.goto(address)
    page.check("input[value$='run-300']")
    page.check("input[value$='run-600']")
    page.click("text=side by side")
    expect(page.locator(".beside figure svg").nth(3)).to_be_attached()
    assert "operations/s" in page.inner_text("table")
    assert fits()
    page.goto(address)
    page.click("a:has-text('curve')")
    expect(page.locator("figure svg").nth(2)).to_be_attached()
    assert fits()
    assert "Largest point that passed" in page.inner_text("body")
    page.click("td a >> nth=0")
    expect(page.locator("h1")).to_contain_text("001-static")
    assert fits()


def test_of_many_results_a_page_is_shown_and_the_rest_is_leafed_through(
    run_of_shelf: Path, tmp_path: Path, browser: Browser
) -> None:
    for number in range(2 * PAGE + 20):
        shutil.copytree(run_of_shelf, run_of_shelf.with_name(f"20200101-{number:06}-copy"))
    with served(tmp_path) as address, opened(browser) as page:
        page.goto(f"{address}/?words=copy")
        expect(page.locator("table tr")).to_have_count(PAGE + 1)
        page.click("text=older")
        page.click("text=older")
        expect(page.locator("table tr")).to_have_count(20 + 1)
        assert "page 3 of 3" in page.inner_text(".pages") and "copy" in page.input_value("input[name=words]")
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            assert not page.evaluate(CUT), f"the list is cut off at {width}"
        page.goto(f"{address}/?page=99999999999999999999")
        expect(page.locator("table tr")).to_have_count(PAGE + 1)


@pytest.mark.slow("a browser follows two runs")
def test_the_live_page_follows_a_run(tmp_path: Path, browser: Browser) -> None:
    sweep = ("sweep", "static", "--over", "rate=50,100", "--arrivals", "constant", "--no-report")
    words = (*sweep, "--station", "workers=4,service=0.004", *WINDOW)
    (tmp_path / "results").mkdir()
    with served(tmp_path) as address, opened(browser) as page:
        page.goto(f"{address}/live")
        says(page, "what", "nothing runs now")
        page.evaluate(WATCH)
        process = subprocess.Popen(command(*words), cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            for text in (["what", "static: 50"], ["phase", "steady"], ["study", "1 done"], ["phase", "complete"]):
                page.wait_for_function(HAS_SHOWN, arg=text, timeout=90_000)
        finally:
            process.wait(timeout=LONGEST_S)
        seen: dict[str, list[str]] = page.evaluate("window.seen")
        rates = {float(text) for text in seen["per_s"] if text != "-"}
        recorded = [0.0, *list_recorded_rates(tmp_path)]
        assert max(rates) > 0
        assert all(any(abs(rate - known) < 0.06 for known in recorded) for rate in rates), (rates, recorded)
        assert set(seen["errors"]) <= {"-", "0"}, seen["errors"]
        for chart in ("per_s", "times", "errors", "each"):
            assert "," in (page.get_attribute(f"#chart_{chart} polyline", "points") or "")
            for axis in (re.compile("^0$"), re.compile(" s$")):
                expect(page.locator(f"#chart_{chart} text", has_text=axis).first).to_be_attached(timeout=60_000)
        assert "99th percentile" in page.inner_text("#key_times")


def list_recorded_rates(folder: Path) -> list[float]:
    """Lists the operations per second of each interval of all runs of a study."""
    (study,) = (folder / "results").iterdir()
    results = [read_result(run) for run in (study / "runs").iterdir()]
    return [interval.answered_per_s for result in results for interval in list_intervals(result)]


def list_intervals(result: Result) -> list[Interval]:
    """Lists the intervals of all workloads of a run."""
    iterations = [iteration for workload in result.workloads for iteration in workload.iterations]
    return [interval for iteration in iterations for interval in iteration.records.intervals]


WATCH = """() => {
  window.seen = {};
  for (const place of ["what", "phase", "study", "per_s", "errors"]) {
    const shown = document.getElementById(place);
    window.seen[place] = [shown.innerText];
    new MutationObserver(() => window.seen[place].push(shown.innerText))
      .observe(shown, { characterData: true, childList: true, subtree: true });
  }
}"""
"""Keeps each text that places of the page show, however briefly."""
HAS_SHOWN = "([place, text]) => window.seen[place].some((shown) => shown.includes(text))"


def says(page: Page, place: str, text: str) -> None:
    """Waits until a place of the page says something."""
    expect(page.locator(f"#{place}")).to_contain_text(text, timeout=90_000)


@pytest.mark.slow("two programs")
def test_only_the_catalogue_is_shown_and_only_to_those_who_may(run_of_shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    with served(tmp_path) as address:
        name = run_of_shelf.name
        assert status(f"{address}/run/{name}") == 200
        for path in ("/run/..", "/run/%2e%2e/secret", "/run/nothing", "/study/..", f"/study/{name}", "/run//etc"):
            assert status(f"{address}{path}") == 404, path
        assert status(f"{address}/side?run={name}") == 400
        assert status(address, Host="rebound.example") == 400
        request = urllib.request.Request(address, data=b"x")
        with pytest.raises(urllib.error.HTTPError, match="405"):
            urllib.request.urlopen(request, timeout=60)
    with served(tmp_path, "--token", "opensesame-opensesame") as address:
        assert status(address) == 401
        assert status(f"{address}/?token=wrong") == 401
        assert status(f"{address}/?token=opensesame-opensesame") == 200
        assert status(address, Authorization="Bearer opensesame-opensesame") == 200


def test_beyond_loopback_a_token_is_asked_for(loadstone_here: LoadstoneRunner) -> None:
    refused = loadstone_here("serve", "--listen", "0.0.0.0:0")
    assert refused.returncode == 2
    assert "--token" in refused.stderr
