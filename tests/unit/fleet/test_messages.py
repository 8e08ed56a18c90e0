"""Messages of a fleet: each has an implementation that fits it, and one that is not valid changes nothing."""

import asyncio
import inspect
from dataclasses import dataclass, field, fields
from signal import Signals
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

import pytest

from loadstone.fleet import messages
from loadstone.fleet.contract import FleetError, Json
from loadstone.fleet.engine_process import Engine, ForEngine
from loadstone.fleet.hosted import HostedMachine
from loadstone.fleet.messages import FleetMessage, answer_of, carry_out, read, serve, write_message
from loadstone.fleet.pairs.half import HostedHalf, HostedSide
from loadstone.fleet.pairs.requests import AskSide, ForHalf, ForSide, InstallCredentials, SendSignal, StartAgent
from loadstone.fleet.requests import (
    HOST_REQUESTS,
    AskHalf,
    AskMachine,
    ForHost,
    ForMachine,
    InjectFault,
    ReachPort,
    StartDriver,
    StartService,
    WriteFile,
)
from loadstone.fleet.supervisor import Supervisor
from loadstone.host.process import Readiness
from loadstone.model.errors import PlatformError
from loadstone.model.fault import FaultKind
from loadstone.model.target import Endpoint
from loadstone.platforms.contract import Machine
from loadstone.platforms.pair.side import Side

INTERFACES: dict[type[FleetMessage[Any]], tuple[type, ...]] = {
    ForHost: (Supervisor,),
    ForMachine: (HostedMachine, Machine),
    ForHalf: (HostedHalf,),
    ForSide: (HostedSide, Side),
    ForEngine: (Engine,),
}
"""What carries out the messages of each interface."""


@pytest.mark.parametrize("interface", INTERFACES)
def test_messages_of_an_interface_have_kinds_of_their_own(interface: type[FleetMessage[Any]]) -> None:
    kinds = [message.kind for message in interface.__subclasses__()]
    assert len(kinds) > 3 and len(set(kinds)) == len(kinds)


@pytest.mark.parametrize(
    ("message", "targets"),
    [(message, targets) for interface, targets in INTERFACES.items() for message in interface.__subclasses__()],
)
def test_every_message_has_an_implementation_with_its_arguments_and_its_answer(
    message: type[FleetMessage[Any]], targets: tuple[type, ...]
) -> None:
    *arguments, kind = fields(message)
    assert (kind.name, kind.default) == ("kind", message.kind)
    method = getattr(next(target for target in targets if hasattr(target, kind.default)), kind.default)
    assert inspect.iscoroutinefunction(method)
    taken, sent = get_type_hints(method), get_type_hints(message)
    answer = taken.pop("return")
    assert not set(vars(FleetMessage)) & {argument.name for argument in arguments}
    assert set(taken) == {argument.name for argument in arguments}
    assert all(alternatives(sent[name]) <= alternatives(taken[name]) for name in taken)
    (expected,) = get_args(message.__orig_bases__[0])
    assert expected is Any or alternatives(answer) <= alternatives(expected)


def alternatives(hint: Any) -> set[Any]:
    """Types that a value may have."""
    return set(get_args(hint)) if isinstance(hint, UnionType) else {NoneType if hint is None else hint}


@pytest.mark.parametrize(
    "message",
    [
        AskMachine("web", StartService("web", ["serve", "--port", "1"], Readiness.NONE)),
        AskMachine("web", InjectFault(FaultKind.FREEZE_PRIMARY)),
        AskHalf("db", AskSide("a", SendSignal(Signals.SIGKILL, ("machine", "agent")))),
        AskHalf("db", AskSide("a", StartAgent(None))),
    ],
)
def test_a_message_arrives_as_it_was_sent(message: FleetMessage[Any]) -> None:
    assert read(HOST_REQUESTS, write_message(message), "s1") == message


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"kind": "sing"}, "s1 does not know `sing`"),
        ({"kind": "answer", "document": {}}, "s1 does not know `answer`"),
        ({}, "s1 cannot read `.`: unable to extract tag"),
        ([], "s1 cannot read `.`"),
        (None, "s1 cannot read `.`"),
        ({"kind": "beat", "loud": True}, "s1 cannot read `beat.loud`: unexpected"),
        ({"kind": "stop_driver"}, "s1 cannot read `stop_driver.name`: field required"),
        ({"kind": "take", "who": "a lab", "block": "everywhere"}, "s1 cannot read `take.block`: .* IPv4"),
        ({"kind": "ask_machine", "machine": "web", "request": {"kind": "take"}}, "s1 does not know `take`"),
        (
            {"kind": "ask_machine", "machine": "web", "request": {"kind": "write", "name": 3, "text": ""}},
            "s1 cannot read `ask_machine.request.write.name`: input should be a valid string",
        ),
        (
            {"kind": "ask_half", "pair": "db", "request": {"kind": "ask_side", "side": "a", "request": {"kind": "x"}}},
            "s1 does not know `x`",
        ),
    ],
)
def test_a_message_that_is_not_valid_is_refused_and_changes_nothing(document: Any, why: str) -> None:
    supervisor = Supervisor("s1", "127.0.0.1")
    before = {name: value for name, value in vars(supervisor).items() if name != "_heard_s"}
    answer = asyncio.run(supervisor.answer(document))
    with pytest.raises(FleetError, match=why):
        answer_of(answer)
    assert {name: value for name, value in vars(supervisor).items() if name != "_heard_s"} == before


def test_what_is_secret_in_a_message_is_in_no_error() -> None:
    answer = asyncio.run(Supervisor("s1", "127.0.0.1").answer({"kind": "start_driver", "token": ["s3cret"]}))
    assert "s3cret" not in str(answer)
    assert "s3cret" not in repr(StartDriver("a", "b", "s3cret"))
    assert "s3cret" not in repr(InstallCredentials("certificate", "s3cret", "authority"))


def test_answers_are_validated_too() -> None:
    assert ReachPort(80).read_answer({"host": "10.0.0.4", "port": 80}) == Endpoint("10.0.0.4", 80)
    assert WriteFile("a", "b").read_answer(None) is None
    with pytest.raises(
        FleetError, match="The answer to `find_endpoint` is not valid: cannot read `port`: field required"
    ):
        ReachPort(80).read_answer({"host": "10.0.0.4"})


@dataclass
class Shelf:
    """Carries out some messages."""

    written: list[str] = field(default_factory=list)

    async def write(self, name: str, text: str) -> None:
        """Writes it down."""
        self.written.append(f"{name}: {text}")

    async def find_endpoint(self, port: int) -> Endpoint:
        """Has only so many ports."""
        if port > 9:
            raise PlatformError(f"There is no port {port}.")
        return Endpoint("shelf", port)


class Cover:
    """Carries out one of them otherwise."""

    async def find_endpoint(self, port: int) -> Endpoint:
        """Elsewhere."""
        return Endpoint("cover", port)


def test_a_message_is_carried_out_by_the_first_that_has_its_method() -> None:
    shelf = Shelf()
    assert asyncio.run(carry_out(ReachPort(1), shelf)) == Endpoint("shelf", 1)
    assert asyncio.run(carry_out(ReachPort(1), Cover(), shelf)) == Endpoint("cover", 1)
    asyncio.run(carry_out(WriteFile("a", "b"), Cover(), shelf))
    assert shelf.written == ["a: b"]


def test_an_error_arrives_as_it_was_raised() -> None:
    class Messages:
        """Takes everything for one message."""

        def validate_python(self, document: Json) -> FleetMessage[Any]:
            """As it says."""
            return ReachPort(document["port"])

    def ask(port: int) -> Any:
        return answer_of(asyncio.run(serve(Messages(), {"port": port}, "it", Shelf())))

    assert ask(3) == {"host": "shelf", "port": 3}
    with pytest.raises(PlatformError, match=r"There is no port 10\.") as raised:
        ask(10)
    assert type(raised.value) is PlatformError


def test_a_stub_sends_its_arguments_as_fields() -> None:
    class Stub:
        """Notes what it sends."""

        write = messages.ask_by(WriteFile)

        async def ask(self, request: WriteFile) -> str:
            """Sends it nowhere."""
            return f"{request.name}={request.text}"

    assert asyncio.run(Stub().write("a", text="b")) == "a=b"
