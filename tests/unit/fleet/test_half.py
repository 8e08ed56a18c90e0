"""One host's part of a pair: messages that cannot be carried out are refused, and change nothing."""

import asyncio
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from loadstone.fleet.cluster import CLUSTER_AUTHORITY, CLUSTER_CERTIFICATE, CLUSTER_KEY
from loadstone.fleet.contract import FleetError
from loadstone.fleet.messages import carry_out
from loadstone.fleet.pairs.half import HostedHalf
from loadstone.fleet.pairs.requests import (
    AskSide,
    BootSide,
    FetchFile,
    ForHalf,
    InstallCredentials,
    JoinNetwork,
    KillWitness,
    OfferFile,
    StartAgent,
    WithdrawFile,
)
from loadstone.platforms.fabric import Member, WideNetwork
from loadstone.platforms.maker import open_maker

ELSEWHERE = WideNetwork("wide", IPv4Network("10.207.192.0/24"), 7, (Member(1, "10.0.0.9", True),))


def on_half(folder: Path, check: Callable[[HostedHalf], Awaitable[object]]) -> None:
    async def play() -> None:
        async with open_maker(folder, IPv4Network("10.200.0.0/18")) as maker:
            await check(HostedHalf("db", maker, "10.0.0.2"))

    asyncio.run(play())


@pytest.fixture(autouse=True)
def own_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_RUNTIME_DIR", str(tmp_path / "runtime"))


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (AskSide("a", StartAgent(None)), "no sides on 10.0.0.2: they were not created"),
        (BootSide("a"), "they were not created"),
        (OfferFile("../../etc/passwd"), "is not a file of the pair db"),
        (FetchFile("/etc/passwd", "10.0.0.9", 80), "is not a file of the pair db"),
        (JoinNetwork(ELSEWHERE), r"10\.0\.0\.2 is not a member of the network wide"),
    ],
)
def test_what_a_half_cannot_do_is_refused(tmp_path: Path, message: ForHalf[object], why: str) -> None:
    async def check(half: HostedHalf) -> None:
        with pytest.raises(FleetError, match=why):
            await carry_out(message, half)
        assert not half.sides and not half.folder.exists()

    on_half(tmp_path, check)


def test_credentials_are_this_users_alone(tmp_path: Path) -> None:
    async def check(half: HostedHalf) -> None:
        await carry_out(InstallCredentials("certificate", "key", "authority"), half)
        files = {file.name: (file.read_text(), file.stat().st_mode & 0o777) for file in half.folder.iterdir()}
        assert files == {
            CLUSTER_CERTIFICATE: ("certificate", 0o600),
            CLUSTER_KEY: ("key", 0o600),
            CLUSTER_AUTHORITY: ("authority", 0o600),
        }
        assert half.folder.stat().st_mode & 0o777 == 0o700

    on_half(tmp_path, check)


def test_what_is_not_there_is_ended_without_a_word(tmp_path: Path) -> None:
    async def check(half: HostedHalf) -> None:
        await carry_out(KillWitness(), half)
        await carry_out(WithdrawFile(80), half)
        await half.end()

    on_half(tmp_path, check)
