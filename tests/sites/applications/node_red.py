"""Node-RED: a front of a single page, allowed by a token that a log-in answers in JSON."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from loadstone.host.http import find_free_port
from tests.sites.contract import Application, Stock, lines_of, settled
from tests.sites.program import running

SETTINGS = """
module.exports = {
  uiHost: "127.0.0.1", flowFile: "flows.json", credentialSecret: "of a test",
  httpAdminMiddleware: (request, response, next) => { console.log(request.method, request.originalUrl); next() },
  adminAuth: { type: "credentials", users: [{ username: "ann", permissions: "*",
    password: require("bcryptjs").hashSync("granite-and-basalt", 8) }] },
  editorTheme: { tours: false },
  logging: { console: { level: "warn" } },
  telemetry: { enabled: false, updateNotification: false },
}
"""


@contextmanager
def up(fetched: Path, folder: Path) -> Iterator[Application]:
    """With one user, `ann`, and no flows."""
    settings, log, port = folder / "settings.js", folder / "application.log", find_free_port()
    settings.write_text(SETTINGS)
    (folder / "flows.json").write_text(json.dumps([{"id": "a1b2c3d4e5f60718", "type": "tab", "label": "Valves"}]))
    modules = fetched / "node" / "node_modules"
    words = ["node", modules / "node-red" / "red.js", "--userDir", folder, "--settings", settings, "-p", str(port)]
    with running(words, port, log, {"NODE_PATH": str(modules)}):
        yield Application(f"http://127.0.0.1:{port}", lines_of(log), silent="/comms")


def visit(page: Page, site: str) -> None:
    """Logs in, opens the settings, logs out."""
    page.goto(site)
    settled(page, 1500)
    page.fill("#node-dialog-login-username", "ann")
    page.fill("#node-dialog-login-password", "granite-and-basalt")
    page.click("#node-dialog-login-submit")
    page.wait_for_selector("#red-ui-workspace-tabs")
    page.wait_for_timeout(2000)
    page.click("#red-ui-header-button-user")
    page.click("#usermenu-item-logout")
    page.wait_for_timeout(1500)


STOCK = Stock(
    "node-red",
    "JavaScript, Express",
    "a single page, with a token from JSON that its WebSocket needs too",
    up,
    visit,
)
