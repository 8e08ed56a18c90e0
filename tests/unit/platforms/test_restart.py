"""A machine that comes back: its services at the ports where they were known, and why it did not."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from qemu.qmp import QMPClient

from loadstone.model.errors import ServiceError
from loadstone.platforms.vm.agent import Agent
from loadstone.platforms.vm.guest import keep_ports
from loadstone.platforms.vm.machine import VirtualMachine

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


class DeadProcess:
    """One that was killed."""

    returncode = -9

    async def wait(self) -> int:
        return self.returncode


def test_a_machine_whose_restart_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail_in_a_service(machine: VirtualMachine) -> None:
        assert machine.is_coming_back
        raise ServiceError("`nginx` stayed silent instead of getting ready")

    async def die() -> VirtualMachine:
        nothing = cast(Any, None)
        machine = VirtualMachine(nothing, nothing, Agent(), qmp=QMPClient("web"), log=tmp_path / "qemu.log")
        machine.process = cast(Any, DeadProcess())
        with pytest.raises(ServiceError):
            await machine.keep()
        return machine

    monkeypatch.setattr(VirtualMachine, "_come_back", fail_in_a_service)
    machine = asyncio.run(die())
    assert not machine.is_coming_back
    assert machine.end() == "it died, and restart 1 failed: `nginx` stayed silent instead of getting ready"
