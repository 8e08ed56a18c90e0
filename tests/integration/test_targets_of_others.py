"""Sites that others set up: what they are sent, what they show, and what is said where they are not there."""

import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.integration.conftest import LoadstoneRunner, newest, report, require_requests, rows, run_until
from tests.verdicts import WINDOW, broken_rules

pytestmark = pytest.mark.integration
WORKLOAD = """
[workload]
name = "mine"
title = "My site"
[pacing]
kind = "think"
mean_s = 0.5
[limits]
good_s = 1
tolerable_s = 2
[mix]
kind = "sequence"
sequence = ["find", "send"]
[operations.find]
path = "/find it"
query = { q = "x y&z", plain = "1" }
contains = ["/find%20it?q=x+y%26z&plain=1"]
[operations.send]
method = "POST"
path = "/send"
form = { word = "a=b c" }
contains = ["word=a%3Db+c"]
"""


class Mirror(BaseHTTPRequestHandler):
    """Answers with what it was asked and sent."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = self.path.encode() + self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815

    def do_HEAD(self) -> None:
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[str]:
    """A site with the ordinary certificate of a trial: one that signed itself."""
    words = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    words += ["-keyout", "key.pem", "-out", "site.pem", "-subj", "/CN=site", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "workload.toml").write_text(WORKLOAD)
    site = ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "site.pem", tmp_path / "key.pem")
    site.socket = context.wrap_socket(site.socket, server_side=True)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield f"https://127.0.0.1:{site.server_address[1]}"
    site.shutdown()
    site.server_close()


WORDS = ("run", "mine", "--sessions", "20", *WINDOW)


@pytest.mark.slow("a run")
def test_what_is_declared_is_sent_encoded_to_a_site_whose_certificate_signed_itself(
    secure: str, loadstone_here: LoadstoneRunner, tmp_path: Path
) -> None:
    words = (*WORDS, "--target", secure, "--authority", "site.pem")
    done = run_until(loadstone_here, tmp_path, require_requests(5, "find", "send"), *words)
    assert rows(report(tmp_path))["Total"]["errors"] == 0, done.stdout + done.stderr


def test_a_certificate_that_nobody_named_is_refused_with_its_cause(
    secure: str, loadstone_here: LoadstoneRunner
) -> None:
    done = loadstone_here(*WORDS, "--target", secure)
    assert done.returncode == 2
    assert "it is self-signed. Pass the CA with --authority FILE" in " ".join(done.stderr.split())


def test_a_target_that_is_down_is_said_at_once(secure: str, loadstone_here: LoadstoneRunner, tmp_path: Path) -> None:
    done = loadstone_here(*WORDS, "--target", "http://127.0.0.1:1")
    assert done.returncode == 2
    assert "http://127.0.0.1:1 cannot be reached: nothing listens there" in " ".join(done.stderr.split())
    assert not list(tmp_path.glob("results/*/runs/*/events.jsonl")), "nothing is measured"


@pytest.mark.slow("a run")
def test_ones_own_workload_says_that_it_plays_the_reference_server(
    secure: str, loadstone_here: LoadstoneRunner, tmp_path: Path
) -> None:
    done = run_until(loadstone_here, tmp_path, require_requests(1), *WORDS)
    assert "mine runs against the reference server" in " ".join(done.stderr.split())
    assert any("validation errors" in rule for rule in broken_rules(newest(tmp_path))), "its pages are others"
