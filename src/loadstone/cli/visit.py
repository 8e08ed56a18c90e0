"""`loadstone try`: one visit, shown exchange by exchange, and what to do where it goes wrong."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli.access import Authority, Certificate, Insecure, Key
from loadstone.cli.exits import Exit
from loadstone.cli.screen import format_variables, out, say
from loadstone.host.files import write_private
from loadstone.host.runtime import make_temporary_folder
from loadstone.model.errors import UsageError
from loadstone.model.records.events import Exchange, Performed
from loadstone.model.target import Access, Target
from loadstone.model.workload import Workload
from loadstone.report.har import as_har, get_status, list_fields
from loadstone.run.reason import read_reason
from loadstone.run.visit import MOST_OPERATIONS, VisitedOperation, visit
from loadstone.workloads import load_with_users

SHOWN_LETTERS = 400
"""Letters that are shown of a body that was not what it should be."""
SWITCHED = 101
"""Status of an answer after which messages went to and fro (RFC 6455, section 4.2.2)."""
LONGEST_VALUE = 60
ADVICE = {
    "status": "Read the response. A login or a one-time token may be missing: extract it with `extract`.",
    "redirect": "Set `redirects` to the number to follow, or `status` if the redirect itself is expected.",
    "title": "The page is not the recorded one; it may be a login page or an error. Correct or remove `title`.",
    "content": "Set `contains` or `absent` to text that this page always or never has.",
    "extract": "Find the value in the response, and set its place: `field`, `json`, `header` or `regex`.",
    "length": "The length varies. Remove `bytes`.",
    "coding": "Set Accept-Encoding under [headers] to supported codings.",
    "time_out": "The operation took longer than `timeout_s`. Check for a response without an end.",
}
"""What to do, by kind of error."""
BY_STATUS = {
    301: "The response is a redirect. Set `redirects = 1` to follow it.",
    302: "The response is a redirect. Set `redirects = 1` to follow it.",
    303: "The response is a redirect. Set `redirects = 1` to follow it.",
    401: "The page requires credentials. Set them under [headers], or log in first.",
    403: "Access is forbidden. Log in first, or extract a one-time token from the previous page with `extract`.",
    404: "There is no such page on this target.",
    405: "The path does not accept this method. Check the method and the path.",
    409: "The value was sent before. Use a value of kind `unique` or `uuid` for fields that must be new.",
    419: "A one-time token is missing or too old. Extract it from the previous page with `extract`.",
    422: "A field is rejected. Read the response, then use another value or extract it with `extract`.",
    429: "The site limits the request rate of an address.",
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
    workload = load_with_users(site)
    if workload.connections.protocol not in ("http1", "http2"):
        raise UsageError(f"`{workload.name}` uses {workload.connections.protocol}. `loadstone try` supports HTTP only.")
    goal = Access(authority, not insecure, cert, key).make_target(target)
    if with_cookies and trace is None:
        raise UsageError("--with-cookies requires a trace. Add --trace FILE.")
    if workload.variables:
        say(f"{workload.name} sends {format_variables(workload.variables)} to {', '.join(target)}.")
    began, done = datetime.now(UTC), asyncio.run(_visit(workload, goal, seed))
    if trace is not None:
        sites = {True: f"https://{goal.https}", False: f"http://{goal.http}"}
        exchanges = (exchange for operation in done for exchange in operation.exchanges)
        write_private(trace, json.dumps(as_har(exchanges, began, sites, with_cookies), indent=1))
        left_out = "" if with_cookies else " Cookies and credentials are left out."
        say(f"The visit is in {trace}.{left_out}")
    failed = next((operation for operation in done if operation.performed.kind), None)
    if failed is not None:
        _explain(failed)
        return Exit.FAIL
    requests = sum(len(operation.exchanges) for operation in done)
    remark = " (it has no end; stopped here)" if len(done) == MOST_OPERATIONS else ""
    out.print(f"[bold green]well[/]: {len(done)} operations in {requests} requests{remark}")
    return Exit.PASS


async def _visit(workload: Workload, target: Target, seed: int) -> list[VisitedOperation]:
    done = []
    with make_temporary_folder("try") as folder:
        async for operation in visit(workload, target, seed, folder / "driver.log"):
            _show(operation)
            done.append(operation)
    return done


def _show(operation: VisitedOperation) -> None:
    performed = operation.performed
    mark = "[bold red]✗[/]" if performed.kind else "[green]✓[/]"
    out.print(f"{mark} [bold]{performed.operation}[/]  {_ms(performed.end_s - performed.at_s)}")
    for exchange in operation.exchanges:
        say(f"    {_line(exchange)}")
        for message in exchange.body.splitlines() if get_status(exchange) == SWITCHED else ():
            say(f"      {_cut(message, SHOWN_LETTERS)}")
        for name, text in list_fields(exchange.head):
            if name.lower() == "set-cookie":
                say(f"      cookie {text.partition('=')[0]}")
    for name, text in performed.values if not performed.kind else ():
        say(f"    {name} = {_cut(text, LONGEST_VALUE)}")


def _line(exchange: Exchange) -> str:
    request = exchange.request.partition(" HTTP/")[0]
    headers = {name.lower(): text for name, text in list_fields(exchange.head)}
    status = get_status(exchange)
    if status is None:
        return f"{request} → {exchange.fault or 'no answer'}"
    goal = f" to {headers['location']}" if "location" in headers else ""
    coding = f", {headers['content-encoding']}" if headers.get("content-encoding") else ""
    size = f"{exchange.body_bytes} bytes{coding and f' ({exchange.bytes} with the head came{coding})'}"
    return f"{request} → {status}{goal}, {size}, {_ms(exchange.end_s - exchange.at_s)}"


def _explain(failed: VisitedOperation) -> None:
    performed = failed.performed
    out.print(f"[bold red]{performed.operation}[/]:", end=" ")
    say(performed.detail)
    last = failed.exchanges[-1] if failed.exchanges else None
    if last is not None and last.body and performed.kind not in ("time_out", "coding"):
        reason = read_reason(last.body) if get_status(last) != SWITCHED else ""
        say(f"The answer says: {reason}" if reason else f"The answer begins:\n{_cut(last.body, SHOWN_LETTERS)}")
    say(_advice(performed, last))


def _advice(performed: Performed, last: Exchange | None) -> str:
    status = get_status(last) if last is not None else None
    if performed.kind == "status" and status in BY_STATUS:
        return BY_STATUS[status]
    return ADVICE.get(performed.kind or "", "Check that the target is up and reachable.")


def _cut(text: str, most: int) -> str:
    shown = "".join(letter if letter.isprintable() else "." for letter in text)
    return shown if len(shown) <= most else f"{shown[:most]}…"


def _ms(length_s: float) -> str:
    return f"{1000 * length_s:.1f} ms"
