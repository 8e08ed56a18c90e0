"""What a whole workload costs the driver: banking over TLS, with thousands of sessions."""

import json
import statistics
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benches import driver
from benches.measure import SERVER_CORE, say
from loadstone.host import programs
from loadstone.model.load import Population
from loadstone.model.profile import Phases
from loadstone.model.target import Target

Json = dict[str, Any]


def measure_sessions(seconds: float) -> Json:
    """Banking over TLS on one core: 10,000 sessions, and the number with which the driver uses half its core."""
    figures: Json = {"unit": "", "loads": {}}
    for count in (4_500, 10_000):
        say(f"    {count} sessions ...")
        with _reference() as target:
            load, phases = Population(count), Phases(40, 20, max(30.0, 3 * seconds), 2)
            cost, events = driver.play("banking", load, phases, target)
        totals = next(event for event in events if event["event"] == "totals")
        steady = [event for event in events if event["event"] == "interval" and event["phase"] == "steady"]
        errors: dict[str, int] = {}
        for operation in totals["operations"]:
            for kind, number in operation["counts"]["errors"].items():
                errors[kind] = errors.get(kind, 0) + number
        figures["loads"][str(count)] = {
            "driver_core_share": totals["cpu"]["threads"][0],
            "lag_p99_ms": totals["lag"]["p99_ns"] / 1e6,
            "http_requests_per_s": totals["connections"]["http_requests"] / totals["steady_ns"] * 1e9,
            "connections_open": statistics.median(event["connections_open"] for event in steady),
            "peak_kib_a_session": cost.peak_bytes / 1024 / count,
            "errors": errors,
        }
        say(f"    {figures['loads'][str(count)]}")
    return figures


@contextmanager
def _reference() -> Iterator[Target]:
    """The reference server and its back end on the server's core."""
    processes: list[subprocess.Popen[str]] = []

    def start(*words: str) -> Json:
        command = [
            "taskset",
            "-c",
            str(SERVER_CORE),
            programs.find_server(),
            *words,
            "--threads",
            "1",
            "--until-stdin-ends",
        ]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout is not None
        ready: Json = json.loads(process.stdout.readline())
        return ready

    try:
        backend = start("backend")
        web = start("web", "--backend", backend["http"], "--listen-tls", "127.0.0.1:0")
        yield Target.parse([f"http://{web['http']}", f"https://{web['https']}"], web["authority"])
    finally:
        for process in processes:
            process.terminate()
            process.wait()
