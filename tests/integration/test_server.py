"""The reference server: what it serves is what is declared, and it refuses what is not decent."""

import hashlib
import re
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from loadstone.host.programs import find_server
from loadstone.model.target import Endpoint
from loadstone.testbed import Testbed
from tests.integration.conftest import LoadstoneRunner
from tests.waiting import WAIT_S

pytestmark = pytest.mark.integration

DATE = "Thu, 01 Jan 2026 00:00:00 GMT"


def ask(at: Endpoint | None, text: str, wait_s: float = WAIT_S) -> bytes:
    """Sends raw bytes and reads until the server closes or a body is complete."""
    assert at is not None
    with socket.create_connection((at.host, at.port), timeout=wait_s) as connection:
        connection.sendall(text.encode())
        received = b""
        while True:
            piece = connection.recv(65536)
            received += piece
            if not piece or (b"\r\n\r\n" in received and _is_whole(received)):
                return received


def _is_whole(received: bytes) -> bool:
    head, _, body = received.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    return b" 304 " in head or (bool(lengths) and len(body) >= int(lengths[0]))


def get(at: Endpoint | None, path: str, *fields: str) -> bytes:
    head = "\r\n".join([f"GET {path} HTTP/1.1", "Host: x", *fields])
    return ask(at, f"{head}\r\n\r\n")


@pytest.mark.parametrize(
    ("request_text", "status"),
    [
        ("GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GET /bank/%2e%2e/x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        ("GARBAGE\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: x\r\nX: " + "a" * 40_000 + "\r\n\r\n", 431),
        ("GET / HTTP/1.1\r\n" + "X: y\r\n" * 500 + "\r\n", 431),
        ("POST /bank/login HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n" + "a" * 70_000, 413),
        ("DELETE /bank/login HTTP/1.1\r\nHost: x\r\n\r\n", 405),
        ("GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", 404),
        ("GET /support/downloads/dir1/download0_0 HTTP/1.1\r\nHost: x\r\n\r\n", 404),
    ],
)
def test_what_is_not_decent_is_refused(testbed: Testbed, request_text: str, status: int) -> None:
    assert ask(testbed.targets[0].http, request_text).split(b" ")[1] == str(status).encode()


@pytest.mark.slow("the server waits ten seconds for a head that was begun")
def test_a_client_that_stops_in_the_middle_of_a_head_is_told_so_and_an_idle_one_is_kept(testbed: Testbed) -> None:
    at = testbed.targets[0].http
    assert at is not None
    with socket.create_connection((at.host, at.port), timeout=100) as idle:
        begun = time.monotonic()
        said = ask(at, "GET / HTTP/1.1\r\nHost:", 100)
        assert b" 408 " in said
        assert 8 < time.monotonic() - begun < 100
        idle.sendall(b"GET /support/index HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.recv(100).startswith(b"HTTP/1.1 200")


def test_a_session_that_does_not_live_sees_the_login_page(testbed: Testbed) -> None:
    assert b"<!--login-required-->" in get(testbed.targets[0].http, "/bank/account_summary", "Cookie: bank=00ff")
    assert b"<!--session-expired-->" in get(testbed.targets[0].http, "/shop/browse?type=home")
    wrong = "userid=0000000001&password=wrong"
    text = f"POST /bank/login HTTP/1.1\r\nHost: x\r\nContent-Length: {len(wrong)}\r\n\r\n{wrong}"
    assert b"<!--login-required-->" in ask(testbed.targets[0].http, text)


def test_conditional_requests_are_honoured(testbed: Testbed) -> None:
    assert b" 304 " in get(testbed.targets[0].http, "/bank/static/806.gif", f"If-Modified-Since: {DATE}")
    older = "If-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT"
    assert b" 200 " in get(testbed.targets[0].http, "/bank/static/806.gif", older)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_both_versions_of_tls_resume_sessions(testbed: Testbed, version: ssl.TLSVersion) -> None:
    at = testbed.targets[0].https
    assert at is not None
    context = ssl.create_default_context(cadata=testbed.targets[0].authority_pem)
    context.minimum_version = context.maximum_version = version

    def talk(session: ssl.SSLSession | None) -> tuple[ssl.SSLSession | None, bool]:
        plain = socket.create_connection((at.host, at.port), timeout=60)
        with context.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as secure:
            secure.sendall(b"GET /support/index HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            while secure.recv(65536):
                pass
            return secure.session, bool(secure.session_reused)

    session, resumed = talk(None)
    assert not resumed
    assert talk(session)[1]


def test_the_written_file_set_is_what_the_server_serves(
    testbed: Testbed, loadstone_here: LoadstoneRunner, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    done = loadstone_here("fileset", "write", "support", "files", "--sessions", "4")
    assert done.returncode == 0, done.stderr
    for path in ("support/static/5670.gif", "support/downloads/dir0000000001/download1_2"):
        written = (tmp_path / "files" / path).read_bytes()
        served = get(testbed.targets[0].http, f"/{path}").partition(b"\r\n\r\n")[2]
        assert hashlib.sha256(written).digest() == hashlib.sha256(served).digest(), path
    again = loadstone_here("fileset", "write", "support", "files", "--sessions", "4")
    assert again.returncode == 0
    capfd.readouterr()
    loadstone_here("fileset", "write", "support", "x", "--sessions", "4", "--dry-run")
    assert "47 files, 68494601 bytes" in capfd.readouterr().out  # a program below it prints
    assert not (tmp_path / "x").exists()


def test_27_gigabytes_of_check_images_need_no_disk(
    loadstone_here: LoadstoneRunner, capfd: pytest.CaptureFixture[str]
) -> None:
    loadstone_here("fileset", "write", "banking", "x", "--sessions", "2600", "--dry-run")
    sizes = re.search(r"(\d+) files, (\d+) bytes", capfd.readouterr().out)
    assert sizes is not None
    count, size = map(int, sizes.groups())
    assert count == pytest.approx(2_600_000, rel=0.001)
    assert size == pytest.approx(27e9, rel=0.02)


def test_the_backend_is_reset_through_the_web_server(testbed: Testbed) -> None:
    body = "sessions=10"
    text = f"POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    assert b" 200 " in ask(testbed.targets[0].http, text)


def test_a_port_that_is_taken_is_named(testbed: Testbed) -> None:
    words = [find_server(), "backend", "--listen", str(testbed.targets[0].http)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"cannot listen on {testbed.targets[0].http}" in done.stderr
