"""`loadstone serve`."""

from typing import Annotated, Any

import typer
import uvicorn

from loadstone.cli.results import RESULTS, Results
from loadstone.cli.screen import out
from loadstone.host.bounds import BoundedProtocol
from loadstone.host.secrets import PAGE_TOKEN, check_token, is_loopback
from loadstone.model.errors import UsageError
from loadstone.model.target import Endpoint
from loadstone.web.app import make_app


def serve(
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Listen address.")] = "127.0.0.1:8321",
    token: Annotated[
        str | None,
        typer.Option(
            help="Access token that requests must carry, at least 16 characters. Required for any "
            "address but loopback.",
            envvar=PAGE_TOKEN,
        ),
    ] = None,
    results: Results = RESULTS,
) -> None:
    """Serve a read-only web page of the results, with a live view of current runs.

    The default is the loopback address; any other needs a token: [bold]LOADSTONE_TOKEN=... loadstone serve --listen
    0.0.0.0:8321[/].
    """
    endpoint = Endpoint.parse(listen)
    host = endpoint.host.strip("[]")
    if token is None and not is_loopback(host):
        raise UsageError(
            f"An address other than loopback requires a token. Add --token, or listen on {DEFAULT_LISTEN}."
        )
    if token is not None:
        check_token(token)
    out.print(f"http://{endpoint}/ shows the results in {results}. Ctrl-C ends it.", soft_wrap=True)
    app = make_app(results, token)
    bounds: dict[str, Any] = {"http": BoundedProtocol, "timeout_graceful_shutdown": 1}
    uvicorn.run(app, host=host, port=endpoint.port, log_level="warning", **bounds)


DEFAULT_LISTEN = "127.0.0.1:8321"
