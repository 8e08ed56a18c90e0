"""Django's own administration: a log-in with a token for one use, pages behind it, answers by gzip."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from loadstone.host.http import find_free_port
from tests.sites.contract import Application, Stock, lines_of, settled
from tests.sites.program import done, running

ADMIN = """
import os, sys
from django.conf import settings
FOLDER = os.environ["APPLICATION_FOLDER"]
PARTS = ["admin", "auth", "contenttypes", "sessions", "messages", "staticfiles"]
settings.configure(
    DEBUG=True, SECRET_KEY="of a test", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, STATIC_URL="/static/",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER + "/data.sqlite"}},
    INSTALLED_APPS=[f"django.contrib.{name}" for name in PARTS],
    MIDDLEWARE=[
        "django.middleware.gzip.GZipMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[{
        "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
        "OPTIONS": {"context_processors": [
            "django.template.context_processors.request",
            "django.contrib.auth.context_processors.auth",
            "django.contrib.messages.context_processors.messages",
        ]},
    }],
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
)
import django
django.setup()
from django.contrib import admin
from django.urls import path
urlpatterns = [path("admin/", admin.site.urls)]
from django.core.management import execute_from_command_line
if sys.argv[1] == "migrate":
    execute_from_command_line(sys.argv)
    from django.contrib.auth.models import User
    User.objects.create_superuser("ann", "ann@example.org", "granite-and-basalt")
else:
    execute_from_command_line(sys.argv)
"""


@contextmanager
def up(fetched: Path, folder: Path) -> Iterator[Application]:
    """With one user, `ann`."""
    program, log, port = folder / "application.py", folder / "application.log", find_free_port()
    program.write_text(ADMIN)
    environment = {"APPLICATION_FOLDER": str(folder)}
    done([sys.executable, program, "migrate"], folder, environment)
    words = [sys.executable, "-u", program, "runserver", "--noreload", f"127.0.0.1:{port}"]
    with running(words, port, log, environment):
        yield Application(f"http://127.0.0.1:{port}", lines_of(log))


def visit(page: Page, site: str) -> None:
    """Logs in, looks at the users and at one of them, logs out."""
    page.goto(f"{site}/admin/")
    page.wait_for_timeout(300)
    page.fill("#id_username", "ann")
    page.fill("#id_password", "granite-and-basalt")
    page.click("input[type=submit]")
    settled(page)
    page.click("text=Users")
    settled(page)
    page.click("#logout-form button")
    settled(page)


STOCK = Stock("django-admin", "Python, Django", "a log-in with a CSRF token in a cookie and a hidden field", up, visit)
