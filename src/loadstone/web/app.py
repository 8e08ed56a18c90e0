"""The web page: list, run, study, two runs side by side, and what runs now. Only GET; nothing is written.

No front-end library: server-sent events and sixty lines of script draw the live view.
"""

import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from loadstone.model.errors import LoadstoneError, StoreError, UsageError
from loadstone.model.numbers import format_rounded
from loadstone.platforms.pair.control import read_statuses
from loadstone.platforms.pair.status import list_status_rows
from loadstone.report.build import Format, render_folder
from loadstone.report.html import build_environment
from loadstone.report.study import render_study
from loadstone.store.documents import read_text
from loadstone.telemetry.pairs import pair_metrics
from loadstone.web.listing import find, is_study, select_page
from loadstone.web.live import Lookout, follow
from loadstone.web.side_by_side import pair_workloads

Next = Callable[[Request], Awaitable[Response]]

COOKIE = "loadstone_token"
LONGEST_PAGE = 6
"""Digits of a page's number."""
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
CONTENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load: nothing from elsewhere, and no script that is not ours."""


def make_app(results: Path, token: str | None = None) -> Starlette:
    """The page over the results in a folder. Without a token only requests for loopback names are answered."""
    pages = WebPages(results)
    middleware = [Middleware(BaseHTTPMiddleware, dispatch=_guarded)]
    if token is None:
        # A page elsewhere may make its own name point here; the name it asks for gives it away.
        middleware.append(Middleware(TrustedHostMiddleware, allowed_hosts=list(LOOPBACK_HOSTS)))
    else:
        middleware.append(Middleware(BaseHTTPMiddleware, dispatch=_only_with(token)))
    return Starlette(
        routes=[
            Route("/", pages.list),
            Route("/run/{name:path}", pages.run),
            Route("/study/{name}", pages.show_study),
            Route("/side", pages.show_side_by_side),
            Route("/live", pages.show_live),
            Route("/live/events", pages.send_events),
            Route("/live.js", pages.send_script),
            Route("/live_chart.js", pages.send_script),
            Route("/pairs", pages.show_pairs),
            Route("/pairs/metrics", pages.pair_metrics),
        ],
        middleware=middleware,
        exception_handlers={LoadstoneError: _error_page},
    )


class WebPages:
    """What each address shows."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.templates = build_environment("loadstone.web")
        self.templates.filters["rounded"] = format_rounded
        self.lookout = Lookout(results)

    async def list(self, request: Request) -> Response:
        """All results and studies, narrowed by words."""
        query, page = request.query_params.get("words", ""), request.query_params.get("page", "1")
        number = int(page) if page.isascii() and page.isdigit() and len(page) <= LONGEST_PAGE else 1
        listed = await run_in_threadpool(select_page, self.results, query, number)
        return self._page("list.html.j2", listed=listed, words=query, folder=str(self.results))

    async def run(self, request: Request) -> Response:
        """A run's report."""
        path = find(self.results, request.path_params["name"])
        report = path / "report.html"
        if report.exists():
            return HTMLResponse(await run_in_threadpool(read_text, report))
        return HTMLResponse(await run_in_threadpool(render_folder, path, Format.HTML))

    async def show_study(self, request: Request) -> Response:
        """A study's report, with links to its runs. Raises StoreError."""
        path = find(self.results, request.path_params["name"])
        if not is_study(path):
            raise StoreError(f"`{path.name}` is not a study.")
        link = f"/run/{path.name}/runs/{{folder}}"
        return HTMLResponse(await run_in_threadpool(render_study, path, Format.HTML, link))

    async def show_side_by_side(self, request: Request) -> Response:
        """Two runs side by side. Raises UsageError."""
        names = request.query_params.getlist("run")
        if len(names) != 2:
            raise UsageError("Choose two runs in the list.")
        a, b = (find(self.results, name) for name in names)
        if is_study(a) or is_study(b):
            raise UsageError("Only runs can be compared side by side; a study has its own report.")
        paired = await run_in_threadpool(pair_workloads, a, b)
        return self._page("side_by_side.html.j2", names=names, pairs=paired)

    async def show_live(self, request: Request) -> Response:
        """Returns the page of the current run."""
        return self._page("live.html.j2")

    async def send_events(self, request: Request) -> Response:
        """Streams the current run's events, as server-sent events."""

        async def stream() -> AsyncIterator[str]:
            async for event in follow(self.lookout):
                if await request.is_disconnected():
                    return
                yield f"data: {json.dumps(event)}\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def show_pairs(self, request: Request) -> Response:
        """How the pairs are that are kept on this host."""
        looked = [{"name": pair["name"], "rows": list_status_rows(pair)} for pair in await read_statuses()]
        return self._page("pairs.html.j2", pairs=looked)

    async def pair_metrics(self, request: Request) -> Response:
        """The same for Prometheus."""
        return PlainTextResponse(pair_metrics(await read_statuses()))

    async def send_script(self, request: Request) -> Response:
        """A script of the live page, by its route."""
        text = (Path(__file__).parent / request.url.path.lstrip("/")).read_text(encoding="utf-8")
        return Response(text, media_type="text/javascript")

    def _page(self, name: str, **content: object) -> Response:
        return HTMLResponse(self.templates.get_template(name).render(**content))


async def _error_page(request: Request, error: Exception) -> Response:
    """Errors of ours are for the person at the screen."""
    status = 404 if isinstance(error, StoreError) else 400
    return PlainTextResponse(f"{error}\n", status_code=status)


async def _guarded(request: Request, call: Next) -> Response:
    response = await call(request)
    response.headers["content-security-policy"] = CONTENT_POLICY
    response.headers["x-content-type-options"] = "nosniff"
    response.headers["referrer-policy"] = "no-referrer"
    return response


def _only_with(token: str) -> Callable[[Request, Next], Awaitable[Response]]:
    """Answers only those who bring the token: in the address once, as a cookie from then on, or as a bearer."""

    async def guard(request: Request, call: Next) -> Response:
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        brought = request.query_params.get("token")
        tokens = [brought or "", request.cookies.get(COOKIE, ""), bearer]
        if not any(hmac.compare_digest(candidate.encode(), token.encode()) for candidate in tokens):
            return PlainTextResponse("The token is missing or wrong. Open /?token=...\n", status_code=401)
        response = await call(request)
        if brought:
            response.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        return response

    return guard
