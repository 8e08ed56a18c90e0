"""iperf3: throughput of TCP connections, in messages of one size (https://software.es.net/iperf).

iperf3 counts bytes, not messages. The time of a message is the time between two messages of a connection: the length of
a tenth of a second, times the connections, divided by its messages.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from loadstone.model.reading import Section
from loadstone.tools.kind import Amount, ToolFigures, ToolInterval, ToolKind, ToolOutput, ToolOutputError, ToolTask

IPERF3_CLIENT = "/usr/bin/iperf3"
INTERVAL_S = 0.1
"""Seconds between two reports; the smallest that iperf3 knows."""
SPARE_S = 1
"""Seconds that iperf3 runs longer, since it may end a part of an interval early."""
SEND = "send"
"""The operation in which the system under test sends; in all others it receives."""


class Iperf3Settings(Section):
    """Sizes of messages and sockets."""

    message_bytes: int = Field(default=8192, ge=1, le=1 << 20, description="bytes of a message, 1 to 1,048,576")
    socket_bytes: int = Field(default=65536, ge=1, description="bytes of both sockets' buffers, 1 or more")


def build_command(task: ToolTask) -> list[str]:
    """The client; the server runs in the system under test."""
    settings = _settings(task)
    sizes = ["--length", str(settings.message_bytes), "--window", str(settings.socket_bytes)]
    times = ["--time", f"{task.steady_s + SPARE_S:.0f}", "--omit", f"{task.lead_s:.0f}", "--interval", str(INTERVAL_S)]
    address = ["--client", task.endpoint.host, "--port", str(task.endpoint.port), "--connect-timeout", "5000"]
    direction = ["--reverse"] if task.operation == SEND else []
    return [IPERF3_CLIENT, "--json", *address, *sizes, *times, "--parallel", str(task.clients), *direction]


def read_figures(task: ToolTask, output: ToolOutput) -> ToolFigures:
    """The intervals after the omitted seconds."""
    document = json.loads(output.text)
    if "error" in document:
        raise ToolOutputError(str(document["error"]))
    intervals = list(_intervals(document["intervals"], _settings(task).message_bytes, task))
    if not intervals:
        raise ToolOutputError("no interval after the omitted seconds")
    return ToolFigures(document["start"]["version"], intervals[-1].end_s, intervals)


def _intervals(reported: list[Mapping[str, Any]], message_bytes: int, task: ToolTask) -> Iterator[ToolInterval]:
    """Yields the intervals that begin in the steady state. Rests of messages count in the next interval."""
    rest_bytes = 0
    begin_s = 0.0
    for summed in (interval["sum"] for interval in reported):
        if summed["omitted"] or begin_s >= task.steady_s:
            continue
        count, rest_bytes = divmod(rest_bytes + summed["bytes"], message_bytes)
        seconds = summed["seconds"]
        mean_s = seconds * task.clients / count if count else 0.0
        yield ToolInterval(begin_s, begin_s + seconds, Amount.estimate(count, message_bytes, mean_s))
        begin_s += seconds


def _settings(task: ToolTask) -> Iperf3Settings:
    assert isinstance(task.settings, Iperf3Settings)
    return task.settings


KIND = ToolKind("iperf3", Iperf3Settings, build_command, read_figures, {IPERF3_CLIENT: "iperf3"})
