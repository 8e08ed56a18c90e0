"""A workload for a site that is not ours, against a stock nginx, from its TOML alone."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.host.http import find_free_port
from tests.integration.conftest import LoadstoneRunner, newest, report, require_requests, rows, run_until, wait_until
from tests.verdicts import WINDOW, broken_rules
from tests.waiting import LONGEST_S

pytestmark = [pytest.mark.integration, pytest.mark.slow("commands and a browser start")]

EXAMPLE = Path(__file__).parents[2] / "examples" / "nginx-site"
SHORTEST = (*WINDOW, "--steady", "1")
"""Of runs each page of which says whether it is right."""
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[str]:
    """The example's nginx on a free port; `make test` installs the program."""
    assert NGINX, "nginx is not installed; scripts/system-packages nginx does it"
    folder, port = tmp_path / "nginx-site", find_free_port()
    shutil.copytree(EXAMPLE, folder)
    folder.chmod(0o755)
    configuration = folder / "nginx.conf"
    text = configuration.read_text().replace(":8080", f":{port}")
    # As root, nginx would change to a user that cannot read pytest's folders.
    configuration.write_text(f"user root;\n{text}" if tmp_path.stat().st_uid == 0 else text)
    words = [NGINX, "-p", str(folder), "-c", "nginx.conf", "-e", "error.log"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE)
    wait_until(lambda: _listens(port), "nginx listens")
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(timeout=LONGEST_S)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
    except OSError:
        return False
    return True


@pytest.mark.slow("a run")
def test_a_site_that_is_not_ours_runs_from_its_toml_alone(
    nginx: str, loadstone_here: LoadstoneRunner, tmp_path: Path
) -> None:
    words = ("run", str(EXAMPLE), "--target", nginx, "--sessions", "100", *WINDOW, "--threads", "2")
    done = run_until(loadstone_here, tmp_path, require_requests(30, "front"), *words)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    operations = rows(report(tmp_path))
    assert set(operations) == {"front", "article", "prices", "Total"}
    assert operations["Total"]["errors"] == 0
    page = len((EXAMPLE / "site" / "index.html").read_bytes())
    assert operations["front"]["mean_bytes"] > page
    assert len(report(tmp_path)["workloads"][0]["iterations"][0]["driver_cpu"]) == 2


@pytest.mark.slow("a run")
def test_a_wrong_page_is_a_validation_error(nginx: str, loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    changed = tmp_path / "nginx-site" / "site" / "granite.html"
    changed.write_text(changed.read_text().replace("About granite", "Error"))
    words = ("run", str(EXAMPLE), "--target", nginx, "--sessions", "100", *WINDOW)
    done = run_until(loadstone_here, tmp_path, require_requests(10, "article"), *words)
    assert any("validation errors" in rule for rule in broken_rules(newest(tmp_path))), done.stdout + done.stderr
    assert "validation errors" in done.stdout
    assert "`loadstone try SITE --target URL` shows one visit" not in done.stdout, "basalt is as it was"
    errors = report(tmp_path)["workloads"][0]["iterations"][0]["errors"]
    assert any("title `Error` instead of `About granite`" in error for error in errors)


def test_compressed_answers_are_checked_as_pages_and_counted_as_they_came(
    nginx: str, loadstone_here: LoadstoneRunner, tmp_path: Path
) -> None:
    site = tmp_path / "own"
    shutil.copytree(EXAMPLE, site)
    page = (tmp_path / "nginx-site" / "site" / "index.html").read_text()
    (tmp_path / "nginx-site" / "site" / "index.html").write_text(page + "<!-- granite -->" * 600)
    declared = (site / "workload.toml").read_text()
    (site / "workload.toml").write_text(f'{declared}\n[headers]\nAccept-Encoding = "gzip"\n')
    words = ("run", str(site), "--target", nginx, "--sessions", "20", *SHORTEST)
    done = run_until(loadstone_here, tmp_path, require_requests(1, "front"), *words)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    front = rows(report(tmp_path))["front"]
    assert front["errors"] == 0
    assert front["body_bytes"] > front["requests"] * 9600
    assert front["bytes"] < front["requests"] * 6000


def test_one_visit_is_shown_and_stops_where_it_goes_wrong(
    nginx: str, loadstone_here: LoadstoneRunner, tmp_path: Path
) -> None:
    done = loadstone_here("try", str(EXAMPLE), "--target", nginx)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "GET / → 200" in done.stdout
    for page in ("granite", "basalt", "index"):
        changed = tmp_path / "nginx-site" / "site" / f"{page}.html"
        changed.write_text(changed.read_text().replace("<title>", "<title>Not "))
    done = loadstone_here("try", str(EXAMPLE), "--target", nginx)
    assert done.returncode == 1
    assert "title `Not The stone yard` instead of `The stone yard`" in done.stdout
    assert "Correct or remove `title`" in done.stdout
    words = ("run", str(EXAMPLE), "--target", nginx, "--sessions", "20", *SHORTEST)
    assert "never right: front" in run_until(loadstone_here, tmp_path, require_requests(1, "front"), *words).stdout


@pytest.mark.slow("a run")
def test_an_address_alone_is_looked_at(nginx: str, loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    words = ("run", f"{nginx}/granite.html", f"{nginx}/", "--rate", "60", "--seconds", "3", "--warm-up", "0.5")
    done = run_until(loadstone_here, tmp_path, require_requests(100), *words)
    assert broken_rules(newest(tmp_path)) == [], done.stdout + done.stderr
    operations = rows(report(tmp_path))
    assert set(operations) == {"granite_html", "home", "Total"}
    assert operations["Total"]["errors"] == 0
    refused = loadstone_here("run", nginx, "banking", "--sessions", "2")
    assert refused.returncode == 2 and "`banking` cannot be combined with" in " ".join(refused.stderr.split())
