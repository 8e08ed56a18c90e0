"""Services of a machine that comes back: at the ports where they were known."""

from loadstone.platforms.vm.guest import keep_ports

COMMAND = ["server", "web", "--listen", "0.0.0.0:0", "--listen-tls", "0.0.0.0:0", "--backend", "10.0.0.1:9"]


def test_a_server_takes_the_ports_that_it_had() -> None:
    said = '{"event": "ready", "http": "0.0.0.0:41001", "https": "0.0.0.0:41002", "authority": null}'
    again = keep_ports(COMMAND, said)
    assert again[2:6] == ["--listen", "0.0.0.0:41001", "--listen-tls", "0.0.0.0:41002"]
    assert again[6:] == COMMAND[6:]
    assert keep_ports(again, said) == again


def test_other_programs_are_started_as_they_were() -> None:
    assert keep_ports(["nginx", "-c", "/x"], "ready") == ["nginx", "-c", "/x"]
    assert keep_ports(COMMAND, '{"http": "0.0.0.0:7", "https": null}')[5] == "0.0.0.0:0"
