"""What servers say of themselves, read into figures: what is now, and counters that only grow. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

STATUS, PHP_STATUS = "/loadstone-status", "/loadstone-php-status"
"""Paths at which servers of ours are told to say it."""
NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class StatusFigures:
    """One look."""

    now: Mapping[str, float] = field(default_factory=dict)
    grown: Mapping[str, float] = field(default_factory=dict)
    """Counters: their rates are what is told."""


@dataclass(frozen=True)
class StatusSource:
    """Where a server says it, and how that is read; the reader raises ValueError for anything else."""

    path: str
    read: Callable[[str], StatusFigures]


def read_nginx(text: str) -> StatusFigures:
    """nginx's stub_status: four lines of numbers (nginx.org, ngx_http_stub_status_module)."""
    numbers = [float(figure) for figure in NUMBER.findall(text)]
    if not text.startswith("Active connections:") or len(numbers) != 7:
        raise ValueError("the response is not a status page of nginx")
    active, accepted, _, requests, reading, writing, waiting = numbers
    now = {"connections": active, "reading": reading, "writing": writing, "waiting": waiting}
    return StatusFigures(now, {"connections accepted": accepted, "requests": requests})


def read_apache(text: str) -> StatusFigures:
    """Apache's mod_status in lines of `name: value` (httpd.apache.org, mod_status, `?auto`)."""
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if "BusyWorkers" not in fields:
        raise ValueError("the response is not a status page of Apache")
    names = {"BusyWorkers": "busy workers", "IdleWorkers": "idle workers", "ConnsTotal": "connections"}
    return StatusFigures({title: float(fields[name]) for name, title in names.items() if name in fields})


def read_php(text: str) -> StatusFigures:
    """The status page of PHP's process manager as JSON (php.net, FPM status page)."""
    try:
        fields = json.loads(text)
        now = {name: float(fields[name]) for name in ("active processes", "idle processes", "listen queue")}
        return StatusFigures(now, {"requests": float(fields["accepted conn"])})
    except (KeyError, TypeError):
        raise ValueError("the response is not a status page of PHP") from None


def read_json(text: str) -> StatusFigures:
    """Reads status figures that our programs write as JSON: a page of Tomcat's beans (tomcat.apache.org, monitoring),
    the role `statistics` of a database's counters.
    """
    try:
        fields = json.loads(text)
        now, grown = ({name: float(value) for name, value in fields[part].items()} for part in ("now", "grown"))
        return StatusFigures(now, grown)
    except (KeyError, TypeError, AttributeError):
        raise ValueError("the response contains no figures") from None
