"""Java for tests: it starts with less processor time, since nobody measures how fast it serves."""

from collections.abc import Iterator

import pytest

from loadstone.services.tomcat import TOMCAT_SETTINGS


@pytest.fixture(scope="module", autouse=True)
def unoptimized_java() -> Iterator[None]:
    """Tomcat starts without Java's optimizing compiler, by its own setting."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for tuning, settings in TOMCAT_SETTINGS.items():
            monkeypatch.setitem(TOMCAT_SETTINGS, tuning, settings.model_copy(update={"optimizes": False}))
        yield
