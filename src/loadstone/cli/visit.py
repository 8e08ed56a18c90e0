"""`loadstone try`: one visit, shown exchange by exchange, and what to do where it goes wrong."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.access import Access, Authority, Certificate, Insecure, Key
from loadstone.cli.exits import Exit
from loadstone.cli.screen import out, say, variables_text
from loadstone.host.files import write_private
from loadstone.host.runtime import temporary_folder
from loadstone.model.errors import UsageError
from loadstone.model.records.events import Exchange, Performed
from loadstone.model.target import Target
from loadstone.model.workload import Workload
from loadstone.report.har import as_har, fields_of, status_of
from loadstone.run.reason import reason_of
from loadstone.run.visit import MOST_OPERATIONS, VisitedOperation, visit
from loadstone.workloads import load

SHOWN = 400
"""Letters that are shown of a body that was not what it should be."""
SWITCHED = 101
"""Status of an answer after which messages went to and fro (RFC 6455, section 4.2.2)."""
LONGEST_VALUE = 60
ADVICE = {
    "status": "See what the answer says. A log-in or a one-use token may be missing: take it with `extract`.",
    "redirect": "Say with `redirects` how many are followed, or `status` that one is the answer.",
    "title": "Another page than recorded: a log-in page, or an error? Change `title`, or leave it out.",
    "content": "Change `contains` or `absent` to what this page always has.",
    "extract": "Look for the value in the answer, and say where it stands: `field`, `json`, `header`, `regex`.",
    "length": "Its length is not always the same: leave `bytes` out.",
    "coding": "Ask for other codings: Accept-Encoding under [headers].",
    "time_out": "It took longer than `timeout_s`. Does the answer never end, or a message never come?",
}
"""What to do, by kind of error."""
BY_STATUS = {
    301: "It redirects: say with `redirects = 1` that it is followed.",
    302: "It redirects: say with `redirects = 1` that it is followed.",
    303: "It redirects: say with `redirects = 1` that it is followed.",
    401: "It wants credentials: give them under [headers], or log in first.",
    403: "It is forbidden: a log-in, or a one-use token that `extract` must take from the page before.",
    404: "There is no such page on this target.",
    405: "The path does not take this method. Does the target serve it at another one?",
    409: "It was sent before: give what must be new a value of its own, such as one of kind `unique` or `uuid`.",
    419: "A one-use token is missing or too old: take it with `extract` from the page before.",
    422: "A field is refused: see what the answer says, and give it a value of its own, or take it with `extract`.",
    429: "The site limits how often one address may ask.",
}
"""The same by status, where that says more."""


def try_(
    site: Annotated[str, typer.Argument(help="Workload (name or folder).")],
    target: Annotated[
        list[str], typer.Option(help="Address of the site: http://HOST:PORT, https://HOST:PORT, or both.")
    ],
    authority: Authority = None,
    insecure: Insecure = False,
    cert: Certificate = None,
    key: Key = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random values and paths.")] = 1,
    trace: Annotated[
        Path | None, typer.Option(help="HAR file to write, without cookies and credentials. Default: none.")
    ] = None,
    with_cookies: Annotated[
        bool, typer.Option("--with-cookies", help="Include cookies and credentials in the file of --trace.")
    ] = False,
) -> Exit:
    """Run one visit without pauses and show each request, its response and the values extracted from it.

    Stops at the first operation that fails and suggests a remedy; the exit code is then 1.
    """
    workload = load(site)
    if workload.connections.protocol not in ("http1", "http2"):
        raise UsageError(f"`{workload.name}` uses {workload.connections.protocol}. `loadstone try` supports HTTP only.")
    goal = Access(authority, not insecure, cert, key).target(target)
    if with_cookies and trace is None:
        raise UsageError("--with-cookies requires a trace. Add --trace FILE.")
    if workload.variables:
        say(f"{workload.name} sends {variables_text(workload.variables)} to {', '.join(target)}.")
    began, done = datetime.now(UTC), asyncio.run(_visit(workload, goal, seed))
    if trace is not None:
        sites = {True: f"https://{goal.https}", False: f"http://{goal.http}"}
        exchanges = (exchange for one in done for exchange in one.exchanges)
        write_private(trace, json.dumps(as_har(exchanges, began, sites, with_cookies), indent=1))
        left_out = "" if with_cookies else " Cookies and credentials are left out."
        say(f"The visit is in {trace}.{left_out}")
    failed = next((one for one in done if one.performed.kind), None)
    if failed is not None:
        _explain(failed)
        return Exit.FAIL
    requests = sum(len(one.exchanges) for one in done)
    told = " (it has no end; the rest was left out)" if len(done) == MOST_OPERATIONS else ""
    out.print(f"[bold green]well[/]: {len(done)} operations in {requests} requests{told}")
    return Exit.PASS


async def _visit(workload: Workload, target: Target, seed: int) -> list[VisitedOperation]:
    done = []
    with temporary_folder("try") as folder:
        async for one in visit(workload, target, seed, folder / "driver.log"):
            _show(one)
            done.append(one)
    return done


def _show(one: VisitedOperation) -> None:
    performed = one.performed
    mark = "[bold red]✗[/]" if performed.kind else "[green]✓[/]"
    out.print(f"{mark} [bold]{performed.operation}[/]  {_ms(performed.end_ns - performed.at_ns)}")
    for exchange in one.exchanges:
        say(f"    {_line(exchange)}")
        for message in exchange.body.splitlines() if status_of(exchange) == SWITCHED else ():
            say(f"      {_cut(message, SHOWN)}")
        for name, text in fields_of(exchange.head):
            if name.lower() == "set-cookie":
                say(f"      cookie {text.partition('=')[0]}")
    for name, text in performed.values if not performed.kind else ():
        say(f"    {name} = {_cut(text, LONGEST_VALUE)}")


def _line(exchange: Exchange) -> str:
    asked = exchange.request.partition(" HTTP/")[0]
    told = {name.lower(): text for name, text in fields_of(exchange.head)}
    status = status_of(exchange)
    if status is None:
        return f"{asked} → {exchange.fault or 'no answer'}"
    goal = f" to {told['location']}" if "location" in told else ""
    coding = f", {told['content-encoding']}" if told.get("content-encoding") else ""
    size = f"{exchange.body_bytes} bytes{coding and f' ({exchange.bytes} with the head came{coding})'}"
    return f"{asked} → {status}{goal}, {size}, {_ms(exchange.end_ns - exchange.at_ns)}"


def _explain(failed: VisitedOperation) -> None:
    performed = failed.performed
    out.print(f"[bold red]{performed.operation}[/]:", end=" ")
    say(performed.detail)
    last = failed.exchanges[-1] if failed.exchanges else None
    if last is not None and last.body and performed.kind not in ("time_out", "coding"):
        reason = reason_of(last.body) if status_of(last) != SWITCHED else ""
        say(f"The answer says: {reason}" if reason else f"The answer begins:\n{_cut(last.body, SHOWN)}")
    say(_advice(performed, last))


def _advice(performed: Performed, last: Exchange | None) -> str:
    status = status_of(last) if last is not None else None
    if performed.kind == "status" and status in BY_STATUS:
        return BY_STATUS[status]
    return ADVICE.get(performed.kind or "", "Is the target up, and is it reached as users reach it?")


def _cut(text: str, most: int) -> str:
    shown = "".join(letter if letter.isprintable() else "." for letter in text)
    return shown if len(shown) <= most else f"{shown[:most]}…"


def _ms(length_ns: int) -> str:
    return f"{length_ns / 1e6:.1f} ms"
