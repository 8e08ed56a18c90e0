"""The server that all tools are measured against: a stock nginx with one worker on a core of its own."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benches.measure import SERVER_CORE

FILES = {"1k": 1024, "10k": 10 * 1024, "100k": 100 * 1024, "1m": 1_000_000, "35m": 35_000_000}
"""Names and lengths of what it serves."""
TITLE = "One page of the bench"

_CONFIGURATION = """\
worker_processes 1; worker_rlimit_nofile 60000; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log warn;
events {{ worker_connections 30000; }}
http {{
    access_log off; sendfile on; keepalive_requests 1000000000; keepalive_timeout 1h; open_file_cache max=100;
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    types {{ text/html html; }}
    ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server-key.pem;
    ssl_session_tickets off; ssl_session_cache off;
    root {folder}/site;
    server {{ listen 127.0.0.1:{http} backlog=4096; }}
    server {{ listen 127.0.0.1:{http2} http2 backlog=4096; sendfile off; }}
    server {{ listen 127.0.0.1:{tls12} ssl backlog=4096; ssl_protocols TLSv1.2; }}
    server {{ listen 127.0.0.1:{tls13} ssl backlog=4096; ssl_protocols TLSv1.3; }}
}}
"""


@dataclass(frozen=True)
class Server:
    """A server that is up."""

    http: str
    tls12: str
    tls13: str
    http2: str
    """Addresses; the second and the third speak one version of TLS each, the last HTTP/2 without TLS."""
    worker: int
    """Process id of its worker."""
    version: str
    folder: Path


@contextmanager
def nginx(loadstone_server: str) -> Iterator[Server]:
    """Starts nginx on free ports of the loopback address; it and its files are gone when the block ends."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    with tempfile.TemporaryDirectory(prefix="loadstone-bench-") as name:
        folder = Path(name)
        write_site(folder / "site")
        subprocess.run([loadstone_server, "certificate", str(folder), "--name", "127.0.0.1"], check=True)
        http, tls12, tls13, http2 = (find_free_port() for _ in range(4))
        configuration = _CONFIGURATION.format(folder=folder, http=http, tls12=tls12, tls13=tls13, http2=http2)
        (folder / "nginx.conf").write_text(configuration)
        folder.chmod(0o755)
        command = ["taskset", "-c", str(SERVER_CORE), program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
        process = subprocess.Popen([*command, "-g", "user root;"] if os.getuid() == 0 else command)
        try:
            _wait_for(http)
            worker = await_worker(process.pid)
            said = subprocess.run([program, "-v"], capture_output=True, text=True, check=False).stderr.strip()
            version = said.partition("/")[2]
            plain, older, newer = f"http://127.0.0.1:{http}", f"https://127.0.0.1:{tls12}", f"https://127.0.0.1:{tls13}"
            multiplexed = f"http://127.0.0.1:{http2}"
            yield Server(plain, older, newer, multiplexed, worker, version, folder)
        finally:
            process.terminate()
            process.wait()


@contextmanager
def bare_server(program: Path, file: Path) -> Iterator[str]:
    """Starts a server of one file that costs less than any load generator; yields its address."""
    with start_beside(str(program), str(file)) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def start_beside(*command: str) -> Iterator[int]:
    """Starts a program on the server's core that writes its port first; yields the port."""
    pinned = ["taskset", "-c", str(SERVER_CORE), *command]
    process = subprocess.Popen(pinned, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(json.loads(process.stdout.readline())["port"])
    finally:
        process.terminate()
        process.wait()


def write_site(folder: Path) -> None:
    """Writes the files into a new folder."""
    folder.mkdir()
    for name, length in FILES.items():
        head = f"<!doctype html><html><head><title>{TITLE}</title></head><body>".encode()
        (folder / f"{name}.html").write_bytes(head + b"x" * (length - len(head) - 1) + b"\n")


def find_free_port() -> int:
    """Returns a free port of the loopback address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("nginx does not come up")


def await_worker(pid: int) -> int:
    """Returns the process id of nginx's worker; raises RuntimeError if there is none within ten seconds."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
        if children:
            return int(children[0])
        time.sleep(0.05)
    raise RuntimeError("nginx does not come up")
