"""docs/evidence/performance.md, written from the kept results: every figure on it comes from there."""

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]

OURS = "loadstone"
PAGE_WIDTH = 118
"""Columns of a line of prose."""


COSTS = {
    "keep-alive-1k": "1 KiB, 64 connections kept",
    "keep-alive-10k": "10 KiB, 64 connections kept",
    "saturated-1k": "1 KiB, 64 connections kept, a server that costs less than any tool",
    "tls-keep-alive": "1 KiB over TLS 1.2, 64 connections kept",
    "tls-handshake": "1 KiB over TLS 1.2, a full handshake for every request, 32 at once",
    "tls13-keep-alive": "1 KiB over TLS 1.3, 64 connections kept",
    "tls13-handshake": "1 KiB over TLS 1.3, a full handshake for every request, 32 at once",
    "http2-one-stream": "1 KiB over HTTP/2 without TLS, 64 connections, one request at a time on each",
    "http2-many-streams": "1 KiB over HTTP/2 without TLS, 8 connections, 32 requests at a time on each",
    "websocket": "WebSocket messages of 64 bytes and their echo, 64 connections",
    "two-threads": "Two driver threads, without a server",
    "body-1m": "1 MB bodies, 4 connections",
    "body-35m": "35 MB bodies, 2 connections",
    "discrete-events": "10,000 bank sessions that queue at a station, as discrete events",
    "report": "Report of three half-hours: `loadstone report`",
    "list": "List of 2,000 results: `loadstone results`",
    "import": "Workload from two recordings: `loadstone workloads from-har`",
    "start-up": "Start-up: `loadstone --version`",
    "virtual-run": "One run in virtual time: `loadstone run static --virtual`",
    "virtual-search": "A search of 15 runs in virtual time: `loadstone search static --virtual`",
}

PROFILES = {
    "saturated-1k": (
        "The goals are 1.45 against the bare loop and 0.95 against wrk. The driver sends and receives once for each "
        "request, as both others do. In a count of its instructions no function takes more than 6 %. Histograms have "
        "5 %, the library that parses headers 7 %, and copies of memory 3 %. The rest is spread over the session, the "
        "connection and the checks of the response, which the others do not make."
    ),
    "report": (
        "The goal is 4. In a profile, 37 % of the time draws 12 charts and 18 % loads modules. Another 17 % reads the "
        "records, and 15 % their 7,740 histograms."
    ),
    "import": (
        "The goal is 3. A third of the time loads modules, a fifth finds the words of all responses, and a tenth reads "
        "the files."
    ),
    "sessions": (
        "The goal is 24 KiB and 2 ms. In a heap profile the task of a session takes 3.6 KiB, buffers and parsers 5, "
        "tickets and certificates 4, and keys of its two connections 2. A task that keeps each operation apart would "
        "take 2 KiB less, at the price of one allocation for each operation. The reference server answered 39 % of "
        "what 10,000 sessions would have asked for, so most of them waited. This driver alternated with two earlier "
        "ones, with 3,000 sessions and the same server, in two rounds each. Against that of 2026-11-22 it took 8 % "
        "more CPU time and 11 % more memory; against that of 2026-11-26 5 % more CPU time and 17 % less memory."
    ),
    "http2-one-stream": (
        "The goal is 1.2. In a profile no function takes more than 5 %. The kernel has 36 % of the time and the C "
        "library 8 %. Most of the rest is the HTTP/2 library: its buffers, header compression and streams."
    ),
    "discrete-events": (
        "The goal is 300 ns. In a profile with 10,000 sessions, 17 % of the time records response times in histograms. "
        "Another 16 % waits for the state of the next session, since all of them exceed the processor's cache. The "
        "queue takes 16 %, and the encoding of 1,080 intervals 13 %."
    ),
    "http2-many-streams": (
        "The goal is 1.4. In a profile no function takes more than 5 %. The kernel has 23 % of the time. The C library "
        "has 20 %, mostly for memory that the HTTP/2 library allocates. The rest is spread over its bookkeeping of "
        "streams, header compression and the checks of responses."
    ),
    "reference-server": (
        "The goal is 1.1, 1.1 and 1.3. The reference server makes one `recvfrom` and one `writev` for each file, which "
        "is the least without `sendfile`. At 100 KiB a third of its time copies the file into the kernel, which "
        "`sendfile` saves nginx. At 1 KiB half of the time is in the kernel, and no function of the server takes more "
        "than 4 %."
    ),
}
"""Why costs are above their goals, by case: where the time goes."""

HEAD = (
    "# Cost and accuracy of the load driver\n\n"
    "`make bench` writes this page from the figures in `benches/results/`; no figure is typed in manually. The machine is small "
    "and shared, so absolute times mean little. The ratios count: the tools alternate on the same core within the same "
    "minutes. Each figure is the median over the rounds, with the smallest and the largest in brackets. Each ratio is the "
    "median of the ratios within a round.\n\n"
    "Every tool runs alone on one core. The server, a stock nginx with one worker unless a heading names another, runs on the "
    "other. Most tools wait for it part of the time, so a cost includes their waking. Costs are CPU seconds of "
    "the generator (user and system, start-up included) divided by the requests that it reports. Loadstone's driver checks "
    "title, text, length and status of every answer, and keeps histograms by operation. The other tools run with their "
    "default settings; k6 discards bodies.\n"
)


def write_page(results: Path, page: Path) -> None:
    """Writes the page from whatever results there are."""
    kept = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("*.json"))}
    parts = [HEAD, *_about(kept)]
    for section in (_costs, _servers, _idle, _starts, _stall, _sessions, _virtual):
        parts.extend(section(kept))
    page.write_text("\n".join(map(_wrapped, parts)).rstrip() + "\n", encoding="utf-8")


def _wrapped(part: str) -> str:
    """A part of the page whose lines of prose have at most `PAGE_WIDTH` columns; tables and headings as they are."""
    lines = part.split("\n")
    return "\n".join(line if line.startswith(("|", "#")) else textwrap.fill(line, PAGE_WIDTH) for line in lines)


def _about(kept: dict[str, Json]) -> Iterator[str]:
    if not kept:
        return
    newest = max(kept.values(), key=lambda one: one["taken"])
    machine = newest["machine"]
    versions = {key: value for one in kept.values() for key, value in one["versions"].items()}
    said = ", ".join(
        f"{name} {version}" for name, version in sorted(versions.items(), key=lambda item: item[0].lower())
    )
    repeats = [one["repeats"] for one in kept.values()]
    rounds = str(min(repeats)) if len(set(repeats)) == 1 else f"{min(repeats)} to {max(repeats)}"
    yield (
        f"Taken {newest['taken'][:10]} on {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"Linux {machine['kernel']}; {rounds} rounds of {newest['seconds']:g} s. Versions: {said}.\n"
    )


def _costs(kept: dict[str, Json]) -> Iterator[str]:
    for name, title in COSTS.items():
        if name not in kept:
            continue
        one = kept[name]
        yield f"## {title}\n"
        yield f"| tool | {one['unit']} | ours to theirs |"
        yield "|---|---|---|"
        for tool, series in one["tools"].items():
            ratio = one["ratios"].get(tool)
            yield f"| {tool} | {_spread(series)} | {'' if ratio is None else f'{ratio:.2f}'} |"
        if "note" in one:
            yield f"\n{one['note']}"
        yield from _taken(one)
        yield from _skipped(one)
        yield ""


def _taken(one: Json) -> Iterator[str]:
    """Why the cost is what it is, day and processor of a case, and what it lost against the taking before."""
    if (profile := PROFILES.get(one["case"])) is not None:
        yield f"\n{profile}"
    yield f"\nTaken {one['taken'][:10]} on {one['machine']['cpu']}."
    yield from (f"\n**Regression**: {regression}" for regression in one.get("regressions", ()))


def _servers(kept: dict[str, Json]) -> Iterator[str]:
    if (one := kept.get("reference-server")) is None:
        return
    yield "## Reference web server against nginx with tuned settings\n"
    yield (
        "Both servers send the same files to a bare loop of 50 connections, on one core each. Costs are CPU "
        "microseconds of the server for a file.\n"
    )
    yield "| file | reference server | nginx, tuned | ours to theirs |"
    yield "|---|---|---|---|"
    for size, figures in one["sizes"].items():
        both = " | ".join(_spread(series) for series in figures["tools"].values())
        yield f"| {size.removesuffix('k')} KiB | {both} | {figures['ratio']:.2f} |"
    yield from _taken(one)
    yield ""


def _idle(kept: dict[str, Json]) -> Iterator[str]:
    if (one := kept.get("idle-tls")) is None:
        return
    yield "## Memory with 10,000 TLS connections\n"
    yield (
        "Peak resident memory of the generator, divided by the number of connections. Loadstone's sessions are idle between two "
        "pages; those of the other tools are not.\n"
    )
    yield "| tool | KiB a connection |"
    yield "|---|---|"
    for tool, value in one["tools"].items():
        yield f"| {tool} | {value:.1f} |"
    yield from _taken(one)
    yield from _skipped(one)
    yield ""


def _starts(kept: dict[str, Json]) -> Iterator[str]:
    if (one := kept.get("start-accuracy")) is None:
        return
    yield "## How exactly arriving sessions start\n"
    yield (
        "The load is Poisson arrivals of one-page sessions. *Late* is the delay of a start against its schedule, measured "
        "right before the send. The last two columns are p-values of a Kolmogorov-Smirnov test of the gaps against the "
        "exponential distribution, for the schedule and for the actual starts. At 20,000 arrivals a second the mean gap (50 us) "
        "is no longer than the time that a request takes the thread. Starts at the same instant then follow each other, so the "
        "schedule is Poisson and the sends cannot be.\n"
    )
    yield "| arrivals/s | late, median | p99 | largest | driver, of a core | p, schedule | p, actual |"
    yield "|---|---|---|---|---|---|---|"
    for rate, figures in one["rates"].items():
        middle = figures["median"]
        yield (
            f"| {int(rate):,} | {middle['late_p50_us']:.0f} us | {middle['late_p99_us']:.0f} us | {middle['late_max_us']:.0f} us "
            f"| {100 * middle['driver_core_share']:.0f} % | {middle['schedule_gaps_p_value']:.2f} | {middle['actual_gaps_p_value']:.2f} |"
        )
    yield "\nOther tools do not say when they started each request, so they are not in this table.\n"


def _stall(kept: dict[str, Json]) -> Iterator[str]:
    if (one := kept.get("stall")) is None:
        return
    yield "## A server that stops for one second in ten\n"
    yield (
        "The table shows the figures that each tool reports. In theory, a tenth of Poisson or constant arrivals falls into the "
        "stall and waits until it ends, so p99.9 is 0.99 s. In a closed loop with think times, each session meets the stall at "
        "most once. A closed loop without pauses sends many fast requests around the stall. Its p99 and p99.9 therefore hide "
        "the stall, though every user of the server waited.\n"
    )
    yield "| tool | load | requests | p50 | p99 | p99.9 | max | p99.9 in theory | shows it at p99 |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in one["rows"]:
        times = " | ".join("" if row.get(key) is None else _time(row[key]) for key in ("p50", "p99", "p99.9", "max"))
        theory = "" if row["theory_p99.9"] is None else _time(row["theory_p99.9"])
        shows = "yes" if (row.get("p99") or 0) > 0.5 else "no"
        yield f"| {row['tool']} | {row['model']} | {row['requests']:,} | {times} | {theory} | {shows} |"
    yield ""


def _sessions(kept: dict[str, Json]) -> Iterator[str]:
    if (one := kept.get("sessions")) is None:
        return
    yield "## Bank sessions over TLS on one core\n"
    yield (
        "This is the whole workload, with cookies, redirects, embedded files over two connections of limited speed, and a check of "
        "every page. The reference server is on the other core. Memory is the driver's peak divided by the sessions, with two "
        "TLS connections each.\n"
    )
    yield "| sessions | driver, of a core | lag p99 | requests/s | connections | KiB a session | errors |"
    yield "|---|---|---|---|---|---|---|"
    for count, figures in one["loads"].items():
        errors = ", ".join(f"{kind} {number}" for kind, number in figures["errors"].items()) or "none"
        yield (
            f"| {int(count):,} | {100 * figures['driver_core_share']:.0f} % | {figures['lag_p99_ms']:.1f} ms "
            f"| {figures['http_requests_per_s']:,.0f} | {figures['connections_open']:,.0f} | {figures['peak_kib_a_session']:.1f} | {errors} |"
        )
    yield from _taken(one)
    yield ""


def _virtual(kept: dict[str, Json]) -> Iterator[str]:
    if (one := kept.get("virtual-time")) is None:
        return
    yield "## Virtual time at scale\n"
    yield (
        "The command is `loadstone simulate banking --seconds 600`. The table shows CPU time for each simulated operation on one "
        "core, lead-in included. Two cores halve the seconds.\n"
    )
    yield "| sessions | operations | seconds | ns CPU an operation |"
    yield "|---|---|---|---|"
    for count, figures in one["sessions"].items():
        cost = figures["ns_cpu_an_operation"]
        yield f"| {int(count):,} | {figures['operations']:,} | {figures['wall_s']:.1f} | {cost:,.0f} |"
    yield from _taken(one)
    yield ""


def _skipped(one: Json) -> Iterator[str]:
    for tool, reason in one.get("skipped", {}).items():
        yield f"\nNot measured: {tool}, {reason}."


def _spread(series: Json) -> str:
    median, least, most = series["median"], series["min"], series["max"]
    digits = 3 if median < 1 else 1
    return f"{median:.{digits}f} ({least:.{digits}f} to {most:.{digits}f})"


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 0.1 else f"{seconds:.3f} s"
