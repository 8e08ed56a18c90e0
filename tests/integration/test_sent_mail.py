"""Mail that users send: a server that acknowledges a message and loses it is caught."""

import json
import socketserver
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadstone.host.http import find_free_port
from loadstone.host.programs import find_server
from loadstone.workloads import list_shipped
from tests.integration.conftest import LoadstoneRunner, newest, report, require_requests, run_until
from tests.verdicts import WINDOW, broken_rules

pytestmark = pytest.mark.integration
PAUSE = "mean_s = 5.795"
"""Pause of the shipped workload; a shorter one brings many deliveries in few seconds."""


class LosingHandler(socketserver.StreamRequestHandler):
    """Speaks LMTP, acknowledges every message and keeps none."""

    def handle(self) -> None:
        """Serves one connection."""
        recipients = 0
        self.wfile.write(b"220 ready\r\n")
        while line := self.rfile.readline(1024):
            verb = line[:4].upper()
            recipients += verb == b"RCPT"
            if verb == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                while self.rfile.readline(4096) not in (b".\r\n", b""):
                    pass
                self.wfile.write(b"250 kept\r\n" * recipients)
                recipients = 0
            else:
                self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")


class LosingServer(socketserver.ThreadingTCPServer):
    """Accepts mail and loses it."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256


@contextmanager
def open_losing_server() -> Iterator[int]:
    """Yields the port of a server that loses all mail."""
    with LosingServer(("127.0.0.1", 0), LosingHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def is_lost_mail_missed(result: Path) -> bool:
    """Whether the errors of a run tell that a message was not there."""
    errors = report(result.parents[1])["workloads"][0]["iterations"][0]["errors"]
    return any("must be there" in kind for kind in errors)


@pytest.mark.slow("two runs of three seconds")
def test_mail_that_is_acknowledged_and_lost_is_caught(tmp_path: Path, loadstone_here: LoadstoneRunner) -> None:
    shipped = (list_shipped()["mail"] / "workload.toml").read_text()
    (tmp_path / "fast").mkdir()
    (tmp_path / "fast/workload.toml").write_text(shipped.replace(PAUSE, "mean_s = 0.05"))
    port = find_free_port()
    command = [find_server(), "mail", "--folder", str(tmp_path / "mail"), "--listen", f"127.0.0.1:{port}"]
    command += ["--listen-lmtp", "127.0.0.1:0", "--until-stdin-ends"]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server,
        open_losing_server() as losing_port,
    ):
        assert server.stdout is not None
        keeping = json.loads(server.stdout.readline())["lmtp"]
        for address, is_lost in ((keeping, False), (f"127.0.0.1:{losing_port}", True)):
            targets = ("--target", f"http://127.0.0.1:{port}", "--target", f"lmtp://{address}")
            words = ("run", "fast:heavy", *targets, "--sessions", "20", *WINDOW, "--no-report")
            # A mail that is lost is missed when its recipient looks for it.
            is_seen = is_lost_mail_missed if is_lost else require_requests(50)
            done = run_until(loadstone_here, tmp_path, is_seen, *words)
            assert is_lost_mail_missed(newest(tmp_path)) == is_lost, done.stdout + done.stderr
            has_errors = any("validation errors" in rule for rule in broken_rules(newest(tmp_path)))
            assert has_errors == is_lost, done.stdout + done.stderr
        server.terminate()
