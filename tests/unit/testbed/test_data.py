"""An application's data, put and restored."""

import asyncio
from typing import Any

import pytest

from loadstone.model.errors import ServiceError
from loadstone.model.target import Endpoint
from loadstone.testbed import data
from loadstone.testbed.data import DataSet


class FillingMachine:
    """A machine whose programs only start."""

    name = "db"

    async def start(self, *words: Any) -> None:
        """Starts nothing."""


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), TimeoutError("late"), ValueError("answers 503")])
def test_a_server_that_may_keep_older_responses_ends_the_run(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    async def done(*words: Any) -> None:
        return None

    async def fails(*words: Any) -> None:
        raise error

    monkeypatch.setattr(data, "wait_until_done", done)
    monkeypatch.setattr(data, "post", fails)
    machine: Any = FillingMachine()
    data_set = DataSet("events", machine, "postgres://db", {}, keepers=[Endpoint("127.0.0.1", 80)])
    with pytest.raises(ServiceError, match=f"127.0.0.1:80 still has responses .*{error}"):
        asyncio.run(data_set.put())
    assert data_set.seconds == []
