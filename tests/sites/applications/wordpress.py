"""WordPress: a log-in, drafts and quick edits by its pages' programs, and the block editor over its REST interface."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from loadstone.host.http import find_free_port
from tests.sites.contract import Application, Stock, lines_of, settled
from tests.sites.database import database_server
from tests.sites.program import done, running

SETTINGS = """<?php
define('DB_NAME', 'loadstone');
define('DB_USER', 'loadstone');
define('DB_PASSWORD', '');
define('DB_HOST', '127.0.0.1:{database}');
define('WP_SITEURL', '{site}');
define('WP_HOME', '{site}');
define('AUTH_KEY', 'granite');
define('SECURE_AUTH_KEY', 'basalt');
define('LOGGED_IN_KEY', 'gneiss');
define('NONCE_KEY', 'slate');
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
$table_prefix = 'wp_';
require_once(__DIR__ . '/wp-settings.php');
"""
INSTALL = """
define('WP_INSTALLING', true);
require 'wp-load.php';
require 'wp-admin/includes/upgrade.php';
wp_install('Valves', 'ann', 'ann@example.org', true, '', 'granite-and-basalt');
foreach (['First', 'Second'] as $title) {
    $post = ['post_title' => "$title valve", 'post_content' => 'Of brass.', 'post_status' => 'publish'];
    wp_insert_post($post + ['post_author' => 1]);
}
update_option('show_avatars', 0);
update_user_meta(1, 'show_welcome_panel', 0);
update_user_meta(1, 'wp_persisted_preferences', ['core/edit-post' => ['welcomeGuide' => false]]);
"""
OPTIONS = ["-d", "opcache.enable_cli=1", "-d", "sendmail_path=/bin/true"]


@contextmanager
def up(fetched: Path, folder: Path) -> Iterator[Application]:
    """Starts it with the user `ann` and two posts in a database of its own."""
    site, log, port = folder / "site", folder / "application.log", find_free_port()
    address = f"http://127.0.0.1:{port}"
    ignored = shutil.ignore_patterns(".htaccess", "wp-config.php")
    shutil.copytree(fetched / "wordpress/usr/share/wordpress", site, ignore=ignored)
    with database_server(folder) as database:
        (site / "wp-config.php").write_text(SETTINGS.format(database=database, site=address))
        done(["php", *OPTIONS, "-r", INSTALL], site)
        command = ["php", *OPTIONS, "-S", f"127.0.0.1:{port}", "-t", site]
        with running(command, port, log, {"PHP_CLI_SERVER_WORKERS": "4"}):
            yield Application(address, lines_of(log))


def visit(page: Page, site: str) -> None:
    """Logs in, writes two drafts, edits two posts in their list, writes a post in the editor."""
    page.goto(f"{site}/wp-login.php")
    settled(page)
    page.fill("#user_login", "ann")
    page.fill("#user_pass", "granite-and-basalt")
    page.click("#wp-submit")
    settled(page)
    for title, text in (("Springs", "They are looked at each spring."), ("Seals", "They are changed each autumn.")):
        page.fill("#quick-press #title", title)
        page.fill("#quick-press #content", text)
        with page.expect_response("**/wp-admin/post.php"):
            page.click("#save-post")
        settled(page)
    page.goto(f"{site}/wp-admin/edit.php?post_status=publish")
    settled(page)
    for title in ("First", "Second"):
        row = page.locator("#the-list tr", has_text=f"{title} valve").first
        row.hover()
        row.locator("button.editinline").click()
        page.fill("tr.inline-editor input[name=post_title]", f"{title} valve, of steel")
        page.click("tr.inline-editor button.save")
        page.wait_for_selector("tr.inline-editor", state="detached")
        settled(page)
    page.goto(f"{site}/wp-admin/post-new.php")
    settled(page)
    for text in ("A valve", "A valve that leaks"):
        page.locator(".editor-post-title__input").fill(text)
        page.click("text=Save draft")
        page.wait_for_selector("text=Saved")
        settled(page)
    page.goto(f"{site}/")
    settled(page)


STOCK = Stock(
    "wordpress",
    "PHP, its own framework",
    "a log-in, and several posts to one path, each with its token",
    up,
    visit,
)
