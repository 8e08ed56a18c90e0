"""What servers say of themselves, read."""

import json

import pytest

from loadstone.measure.status import compute_status_figures
from loadstone.model.records.sample import ServiceSample
from loadstone.services import status

NGINX = (
    "Active connections: 291 \nserver accepts handled requests\n 16630 16630 31070 \n"
    "Reading: 6 Writing: 179 Waiting: 106 \n"
)
APACHE = "localhost\nServerVersion: Apache/2.4\nConnsTotal: 12\nBusyWorkers: 3\nIdleWorkers: 47\nScoreboard: __W\n"
PHP = {"pool": "sites", "accepted conn": 100, "listen queue": 2, "idle processes": 1, "active processes": 4}


def test_nginx_tells_connections_and_requests() -> None:
    said = status.read_nginx(NGINX)
    assert said.now == {"connections": 291, "reading": 6, "writing": 179, "waiting": 106}
    assert said.grown["requests"] == 31070


def test_apache_tells_workers() -> None:
    assert status.read_apache(APACHE).now == {"busy workers": 3, "idle workers": 47, "connections": 12}


def test_php_tells_children_and_their_queue() -> None:
    before = status.read_php(json.dumps(PHP))
    after = status.read_php(json.dumps({**PHP, "accepted conn": 150, "listen queue": 0}))
    now = {"active processes": 4, "idle processes": 1, "listen queue": 0}
    assert compute_status_figures((10.0, before), (12.0, after)) == ServiceSample(now, {"requests": 25})
    assert compute_status_figures(None, (12.0, after)) == ServiceSample(now, {})
    assert compute_status_figures((10.0, before), None) == ServiceSample({}, {})


@pytest.mark.parametrize("read", [status.read_nginx, status.read_apache, status.read_php, status.read_json])
@pytest.mark.parametrize("text", ["", "404 page not found", "[]", "{}", "Active connections: no"])
def test_what_is_no_status_is_refused(read: object, text: str) -> None:
    assert callable(read)
    with pytest.raises(ValueError):
        read(text)
