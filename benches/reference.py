"""What a file costs the reference web server, against nginx with the product's own tuned settings."""

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benches.examples import find_example
from benches.measure import SERVER_CORE, Series, execute
from benches.server import await_worker, find_free_port, write_site
from loadstone.host import programs
from loadstone.model.service import Tuning
from loadstone.services import nginx
from loadstone.services.kind import Site

Json = dict[str, Any]

SIZES = ("1k", "10k", "100k")
"""Files of the site that are fetched."""
CONNECTIONS = 50
REFERENCE, OTHER = "reference server", "nginx, tuned"
CACHE_AGE_S = 3600
"""Age of cached files, as in the tuned settings of both."""


def measure_servers(repeats: int, seconds: float) -> Json:
    """Returns CPU microseconds of the server for a file of each size, both servers in turn."""
    client = str(find_example("bare_request"))
    costs: dict[str, dict[str, Series]] = {size: {REFERENCE: Series(), OTHER: Series()} for size in SIZES}
    with tempfile.TemporaryDirectory(prefix="loadstone-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        write_site(folder / "site")
        with _reference_server(folder) as ours, _tuned_nginx(folder) as theirs:
            for turn in range(repeats):
                servers = [(REFERENCE, *ours), (OTHER, *theirs)]
                for name, port, worker in servers if turn % 2 == 0 else reversed(servers):
                    for size in SIZES:
                        before_s = _cpu_s(worker)
                        call = [client, f"127.0.0.1:{port}", f"/{size}.html", str(CONNECTIONS), f"{seconds:g}"]
                        files = float(json.loads(execute(call).output)["requests"])
                        costs[size][name].values.append(1e6 * (_cpu_s(worker) - before_s) / files)
    sizes = {
        size: {
            "tools": {name: series.as_json() for name, series in both.items()},
            "ratio": statistics.median(
                mine / other for mine, other in zip(both[REFERENCE].values, both[OTHER].values, strict=True)
            ),
        }
        for size, both in costs.items()
    }
    return {"unit": "us CPU a file", "sizes": sizes}


def _cpu_s(pid: int) -> float:
    """CPU seconds that a process has used, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _reference_server(folder: Path) -> Iterator[tuple[int, int]]:
    options = ["--folder", str(folder / "site"), "--cache-age", str(CACHE_AGE_S), "--threads", "1"]
    command = ["taskset", "-c", str(SERVER_CORE), programs.find_server(), "webserver", *options, "--until-stdin-ends"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(json.loads(process.stdout.readline())["http"].rpartition(":")[2]), process.pid
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _tuned_nginx(folder: Path) -> Iterator[tuple[int, int]]:
    """nginx as runs configure it when it is tuned, on a free port."""
    site = Site(str(folder), "127.0.0.1", find_free_port(), tuning=Tuning.TUNED, kept_files=str(folder / "site"))
    (folder / nginx.NGINX_CONFIGURATION).write_text(nginx.render_configuration(site), encoding="utf-8")
    command = ["taskset", "-c", str(SERVER_CORE), "sh", "-c", nginx.render_start(site)]
    process = subprocess.Popen(command)
    try:
        yield site.port, await_worker(process.pid)
    finally:
        process.terminate()
        process.wait()
