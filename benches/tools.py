"""The tools that are compared: how each is had, called and read. What cannot be had is left out, with the reason."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from benches.measure import Cost, execute

HERE = Path(__file__).parent
KEPT = Path(os.environ.get("LOADSTONE_BENCH_TOOLS", HERE / ".tools"))
"""Where tools that are not the system's are installed."""


class MissingError(Exception):
    """A tool that cannot be had here, and why."""


@dataclass(frozen=True)
class Job:
    """What a tool is to do: fetch one address as fast as it can, or at a rate."""

    url: str
    connections: int
    seconds: float
    keep_alive: bool = True
    rate: float | None = None
    """Requests per second, where the tool can; None for a closed loop."""
    streams: int = 1
    """Requests at a time on a connection, over HTTP/2."""

    @property
    def is_over_tls(self) -> bool:
        """Whether the address is one of HTTPS."""
        return self.url.startswith("https:")


@dataclass(frozen=True)
class Said:
    """What a tool says of its run; times in seconds."""

    requests: int
    times_s: dict[str, float] = field(default_factory=dict)
    """By name: p50, p99, p99.9, max."""


@dataclass(frozen=True)
class Tool:
    """A load generator."""

    name: str
    find: Callable[[], str]
    """Path of its program; installs it when it is missing. Raises MissingError."""
    version: Callable[[str], str]
    command: Callable[[str, Job], Sequence[str]]
    read: Callable[[str], Said]
    over_tls: bool = True
    """Whether it can be told to believe any certificate from its command line."""
    closes: bool = True
    """Whether it can be told to open a connection for every request."""
    at_rate: bool = False
    """Whether it can keep a rate."""

    def run(self, job: Job) -> tuple[Cost, Said]:
        """Runs it on the generator's core."""
        cost = execute(self.command(self.find(), job))
        said = self.read(cost.output)
        if not said.requests:
            raise RuntimeError(f"{self.name} made no request: {cost.errors[-300:]}")
        return cost, said


def _installed(name: str, place: Path, install: Sequence[str], needs: str, env: dict[str, str] | None = None) -> str:
    if place.exists():
        return str(place)
    if shutil.which(needs) is None:
        raise MissingError(f"{name} needs {needs}, which is not installed")
    print(f"installing {name} (some minutes, once) ...", file=sys.stderr)
    done = subprocess.run(install, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=False)
    if not place.exists():
        raise MissingError(f"{name} could not be installed: {done.stderr.strip()[-200:]}")
    return str(place)


@cache
def _find_packaged(name: str) -> str:
    """Path of a program that is a package of this system, installed where it is missing. Raises MissingError."""
    if shutil.which(name) is None:
        subprocess.run([str(HERE.parent / "scripts" / "system-packages"), name], check=False)
    program = shutil.which(name)
    if program is None:
        raise MissingError(f"{name} is no package of this system")
    return program


@cache
def _find_oha() -> str:
    command = ["cargo", "install", "oha", "--locked", "--quiet", "--root", str(KEPT / "oha")]
    return _installed("oha", KEPT / "oha" / "bin" / "oha", command, "cargo")


@cache
def _find_k6() -> str:
    command = ["go", "install", "go.k6.io/k6@latest"]
    return _installed("k6", KEPT / "bin" / "k6", command, "go", {"GOBIN": str(KEPT / "bin")})


@cache
def _find_goose() -> str:
    command = ["cargo", "build", "--release", "--quiet", "--manifest-path", str(HERE / "goose" / "Cargo.toml")]
    target = KEPT / "goose"
    env = {"CARGO_TARGET_DIR": str(target)}
    return _installed("goose", target / "release" / "goose-bench", command, "cargo", env)


@cache
def _find_locust() -> str:
    place = KEPT / "locust" / "bin" / "locust"
    make = f"{sys.executable} -m venv {KEPT / 'locust'} && {KEPT / 'locust'}/bin/pip install --quiet locust"
    return _installed("Locust", place, ["sh", "-c", make], "sh")


def _first(*command: str, pattern: str = r"(\d+\.\d+[.\d]*)") -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(pattern, done.stdout + done.stderr)
    return found.group(1) if found else "unknown"


def _wrk(program: str, job: Job) -> list[str]:
    close = [] if job.keep_alive else ["-H", "Connection: close"]
    script = ["-s", str(HERE / "wrk.lua")]
    return [program, "-t1", f"-c{job.connections}", f"-d{job.seconds:g}s", "--timeout", "30s", *close, *script, job.url]


def _h2load(program: str, job: Job) -> list[str]:
    options = ["-t1", f"-c{job.connections}", f"-m{job.streams}", f"-D{job.seconds:g}", "--warm-up-time=0"]
    return [program, *options, job.url]


def _read_h2load(output: str) -> Said:
    done = re.search(r"(\d+) succeeded", output)
    return Said(int(done.group(1)) if done else 0)


def _oha(program: str, job: Job) -> list[str]:
    options = ["-c", str(job.connections), "-z", f"{job.seconds:g}s", "-w", "--no-tui", "--output-format", "json"]
    options += [] if job.keep_alive else ["--disable-keepalive"]
    options += ["-q", f"{job.rate:g}", "--latency-correction"] if job.rate else []
    return [program, *options, "--insecure", "--disable-compression", job.url]


def _read_oha(output: str) -> Said:
    said = json.loads(output)
    percentiles = said["latencyPercentiles"]
    times = {name: percentiles[name] for name in ("p50", "p99", "p99.9") if percentiles.get(name) is not None}
    return Said(sum(said["statusCodeDistribution"].values()), {**times, "max": said["summary"]["slowest"]})


def _k6(program: str, job: Job) -> list[str]:
    env = {"URL": job.url, "VUS": job.connections, "SECONDS": job.seconds, "RATE": job.rate or 0}
    env["CLOSE"] = "" if job.keep_alive else "1"
    pairs = [word for key, value in env.items() for word in ("-e", f"{key}={value}")]
    return [program, "run", "--quiet", "--no-usage-report", *pairs, str(HERE / "k6.js")]


def _read_k6(output: str) -> Said:
    said = json.loads(output[output.index("{") :])
    values = said["metrics"]["http_req_duration"]["values"]
    names = {"p50": "med", "p99": "p(99)", "p99.9": "p(99.9)", "max": "max"}
    return Said(
        said["metrics"]["http_reqs"]["values"]["count"], {key: values[name] / 1e3 for key, name in names.items()}
    )


def _goose(program: str, job: Job) -> list[str]:
    host, _, path = job.url.partition("//")[2].partition("/")
    options = ["--host", f"http://{host}", "--users", str(job.connections), "--run-time", f"{job.seconds:g}"]
    options += ["--increase-rate", str(job.connections), "--no-reset-metrics", "--no-print-metrics", "-qq"]
    return ["env", f"BENCH_PATH=/{path}", program, *options]


def _read_goose(output: str) -> Said:
    said = json.loads(output.strip().splitlines()[-1])
    return Said(said["requests"], _percentiles(said["times_ms"]))


def _locust(program: str, job: Job) -> list[str]:
    host, _, path = job.url.partition("//")[2].partition("/")
    scheme = job.url.partition(":")[0]
    options = [
        "--headless",
        "-u",
        str(job.connections),
        "-r",
        str(job.connections),
        "-t",
        f"{job.seconds:g}s",
        "--json",
    ]
    script = ["-f", str(HERE / "locustfile.py"), "--host", f"{scheme}://{host}", "--skip-log"]
    return ["env", f"BENCH_PATH=/{path}", program, *options, *script]


def _read_locust(output: str) -> Said:
    said = json.loads(output[output.index("[") :])
    times = [(float(at), count) for one in said for at, count in one["response_times"].items()]
    return Said(sum(one["num_requests"] for one in said), _percentiles(times))


def _percentiles(times_ms: Sequence[Sequence[float]]) -> dict[str, float]:
    """From milliseconds and counts."""
    ordered = sorted((at, count) for at, count in times_ms)
    total = sum(count for _, count in ordered)
    made: dict[str, float] = {}
    for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)):
        seen = 0.0
        for at, count in ordered:
            seen += count
            if seen >= share * total:
                made[name] = at / 1e3
                break
    return made


def _read_wrk(output: str) -> Said:
    said = json.loads(output[output.index("{") :])
    times = {name: said[name] / 1e6 for name in ("p50", "p99", "p99.9", "max")}
    return Said(said["requests"], times)


H2LOAD = Tool("h2load", partial(_find_packaged, "h2load"), lambda at: _first(at, "--version"), _h2load, _read_h2load)
"""The only one of them for HTTP/2."""

OTHERS = (
    Tool("wrk", partial(_find_packaged, "wrk"), lambda at: _first(at, "-v"), _wrk, _read_wrk),
    Tool("oha", _find_oha, lambda at: _first(at, "--version"), _oha, _read_oha, at_rate=True),
    Tool("goose", _find_goose, lambda _: "0.19.0", _goose, _read_goose, over_tls=False, closes=False),
    Tool("k6", _find_k6, lambda at: _first(at, "version"), _k6, _read_k6, at_rate=True),
    Tool("Locust", _find_locust, lambda at: _first(at, "--version"), _locust, _read_locust, closes=False),
)
"""All that is compared, from the leanest on."""
