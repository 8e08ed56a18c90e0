"""Stock applications that are visited by a real browser, with their own logs of what they were asked."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadstone.host.http import free_port

UP_S = 30.0
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
"""Django's own administration: a log-in with a token for one use, pages behind it, answers by gzip."""


@dataclass(frozen=True)
class Application:
    """One that is up."""

    site: str
    log: Path

    def requests(self) -> list[str]:
        """Method and path of each request that it logged."""
        return re.findall(r'"((?:GET|POST|HEAD) \S+) HTTP', self.log.read_text())


@contextmanager
def django_admin(folder: Path) -> Iterator[Application]:
    """Django's administration with one user, `ann`."""
    program, log, port = folder / "application.py", folder / "application.log", free_port()
    program.write_text(ADMIN)
    environment = {**os.environ, "APPLICATION_FOLDER": str(folder)}
    subprocess.run([sys.executable, program, "migrate"], env=environment, check=True, capture_output=True, timeout=120)
    with log.open("wb") as out:
        words = [sys.executable, "-u", program, "runserver", "--noreload", f"127.0.0.1:{port}"]
        process = subprocess.Popen(words, env=environment, stdout=out, stderr=out)
    try:
        _wait_for(port)
        yield Application(f"http://127.0.0.1:{port}", log)
    finally:
        process.kill()
        process.wait(timeout=10)


def _wait_for(port: int) -> None:
    end = time.monotonic() + UP_S
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=0.2).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"nothing listens at port {port} within {UP_S:g} s")
