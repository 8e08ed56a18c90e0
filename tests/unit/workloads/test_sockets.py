"""What recorded messages of a WebSocket become."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.workload import Workload
from loadstone.workloads import load
from loadstone.workloads.importers.answers import find_json_places
from loadstone.workloads.importers.from_har import read_recording
from loadstone.workloads.importers.har import HarMessage
from loadstone.workloads.importers.imported import Imported
from loadstone.workloads.importers.sockets import list_leaves, sign, split_frame, split_turns
from tests.unit.workloads.test_from_har import START, entry

PAGE = '<title>Room</title><meta name="room-key" content="{key}">'


def message(at_s: float, kind: str, data: str, opcode: int = 1) -> dict[str, Any]:
    return {"type": kind, "time": START.timestamp() + at_s, "opcode": opcode, "data": data}


def socket(at_s: float, *messages: dict[str, Any], url: str = "ws://a.example/room", **changes: Any) -> dict[str, Any]:
    headers = [
        {"name": "Upgrade", "value": "websocket"},
        {"name": "Origin", "value": "http://a.example"},
        {"name": "Sec-WebSocket-Protocol", "value": "chat"},
        {"name": "Sec-WebSocket-Key", "value": "x3JJHMbDL1EzLkh9GBhXDw=="},
    ]
    more = {"_resourceType": "websocket", "status": 101, "_webSocketMessages": list(messages), **changes}
    return entry(at_s, url, "", request={"headers": headers}, **more)


def made_of(tmp_path: Path, *visits: list[dict[str, Any]]) -> tuple[Imported, Workload]:
    files = []
    for number, entries in enumerate(visits):
        files.append(tmp_path / f"{number}.har")
        files[-1].write_text(json.dumps({"log": {"entries": entries}}))
    made = read_recording(*files).build_workload("mine")
    (tmp_path / "workload.toml").write_text(made.text)
    return made, load(str(tmp_path))


def visit(key: str, ticket: int) -> list[dict[str, Any]]:
    talk = (
        message(0.3, "receive", f'{{"kind": "welcome", "key": "{key}"}}'),
        message(0.4, "send", f'{{"kind": "enter", "room": "Granite", "key": "{key}"}}'),
        message(0.5, "receive", f'{{"kind": "entered", "at": {ticket * 7}, "ticket": "{ticket}"}}'),
        message(15, "receive", '{"kind": "heartbeat"}'),
    )
    return [
        entry(0, "http://a.example/", text=PAGE.format(key=key)),
        socket(0.2, *talk),
        entry(5, f"http://a.example/ticket/{ticket}", text="<title>Ticket</title>"),
    ]


def test_messages_become_an_exchange_with_the_values_of_its_answers(tmp_path: Path) -> None:
    made, workload = made_of(tmp_path, visit("k7Qw90ZxVb12Lm34", 4711), visit("p0Ol81MnJu76Hy65", 2323))
    assert workload.mix.sequence == ("home", "room", "ticket_4711")
    assert workload.pacing.no_pause_before == ("room",)
    room = workload.operations["room"]
    assert [step.plan() for step in room.websocket] == [
        {"await": '{{"kind": "welcome", "key": "'},
        {"send": '{{"kind": "enter", "room": "Granite", "key": "{key}"}}'},
        {"await": '{{"kind": "entered", "at":'},
    ]
    assert room.headers == {"Origin": "{target}", "Sec-WebSocket-Protocol": "chat"}
    assert workload.operations["ticket_4711"].path == "/ticket/{ticket_id}"
    (ticket,) = room.extract
    assert (ticket.value, ticket.json_) == ("ticket_id", "/ticket")
    assert not made.left_out
    told = {str(one.leaf): (one.source, one.recordings) for one in made.correlated}
    assert told == {"message 1/key": ("home", 2), "path 2": ("room", 2)}


def test_one_recording_is_known_by_what_looks_the_same_in_each_visit(tmp_path: Path) -> None:
    _, workload = made_of(tmp_path, visit("k7Qw90ZxVb12Lm34", 4711))
    steps = [step.plan() for step in workload.operations["room"].websocket]
    assert steps[0] == {"await": '{{"kind": "welcome", "key": "'}
    assert steps[2] == {"await": '{{"kind": "entered", "at":'}


def test_bytes_framed_messages_and_milliseconds(tmp_path: Path) -> None:
    def at(message: dict[str, Any]) -> dict[str, Any]:
        return message | {"time": message["time"] * 1000}

    talk = [
        at(message(0.2, "receive", '0{"sid":"k7Qw90ZxVb12Lm34"}')),
        at(message(0.3, "send", '42["say",{"words":"granite {x}"}]')),
        at(message(0.4, "receive", "AAECAw==", 2)),
        at(message(0.5, "send", "AAEC", 2)),
        at(message(9, "receive", "2")),
        at(message(9.1, "send", "3")),
    ]
    made, workload = made_of(tmp_path, [entry(0, "http://a.example/"), socket(0.1, *talk)])
    assert [step.plan() for step in workload.operations["room"].websocket] == [
        {"await": '{{"sid":"'},
        {"send": '42["say",{{"words":"granite {{x}}"}}]'},
        {"expect": ""},
        {"send_bytes": "AAEC"},
        {"send": "3"},
    ]
    assert made.doubts[1:] == ("room sends its 3 messages one after another; the recorded visit took 9 s",)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"_webSocketMessages": []}, "without recorded messages"),
        ({"status": -1}, "without recorded messages"),
        ({"url": "wss://a.example/room"}, "to other sites"),
    ],
)
def test_what_cannot_be_played_is_left_out_and_said(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    made, workload = made_of(
        tmp_path, [entry(0, "http://a.example/"), socket(0.1, message(0.2, "receive", "hello"), **changes)]
    )
    assert list(workload.operations) == ["home"]
    assert any(said in told for told in made.left_out), made.left_out


def test_a_room_that_is_entered_later_comes_after_a_pause(tmp_path: Path) -> None:
    _, workload = made_of(
        tmp_path, [entry(0, "http://a.example/"), socket(7.1, message(7.2, "receive", "You are welcome."))]
    )
    assert workload.pacing.no_pause_before == ()
    assert workload.pacing.mean_s == pytest.approx(7.0)


def talk(*messages: tuple[str, str], at_s: float = 0.2, path: str = "room") -> dict[str, Any]:
    told = [message(at_s + number / 10, kind, data) for number, (kind, data) in enumerate(messages)]
    return socket(at_s, *told, url=f"ws://a.example/{path}")


def steps_of(workload: Workload, operation: str = "room") -> list[Any]:
    return [step.plan() for step in workload.operations[operation].websocket]


HOME = entry(0, "http://a.example/")


def test_a_messages_end_may_be_no_letter(tmp_path: Path) -> None:
    visits = (
        [
            entry(0, "http://a.example/", text=PAGE.format(key=key)),
            talk(("send", f'{{"target":"enter","arguments":["{key}"]}}\x1e'), ("receive", '{"type":6}\x1e')),
        ]
        for key in ("k7Qw90ZxVb12Lm34", "p0Ol81MnJu76Hy65")
    )
    _, workload = made_of(tmp_path, *visits)
    (name,) = (extract.value for extract in workload.operations["home"].extract)
    assert steps_of(workload)[0] == {"send": f'{{{{"target":"enter","arguments":["{{{name}}}"]}}}}\x1e'}


def test_numbers_in_lists_are_taken_too(tmp_path: Path) -> None:
    visits = (
        [
            HOME,
            entry(3, "http://a.example/rooms", "application/json", text=f'{{"room": {room}}}', _resourceType="fetch"),
            talk(("send", f'42["join",{room}]'), at_s=6),
        ]
        for room in (4711, 2323)
    )
    _, workload = made_of(tmp_path, *visits)
    (name,) = (extract.value for extract in workload.operations["rooms"].extract)
    assert steps_of(workload) == [{"send": f'42["join",{{{name}}}]'}]


def test_of_several_messages_the_last_is_waited_for_by_what_it_alone_holds(tmp_path: Path) -> None:
    last = '{"channel":"orders","user":"granite","seq":13,"ticket":"4711"}'
    first = '{"channel":"orders","user":"granite","seq":12,"kind":"ack"}'
    _, workload = made_of(tmp_path, [HOME, talk(("send", "order"), ("receive", first), ("receive", last))])
    assert steps_of(workload) == [{"send": "order"}, {"await": ',"ticket":"'}]
    (tmp_path / "workload.toml").unlink()
    _, workload = made_of(tmp_path, [HOME, talk(("send", "order"), ("receive", "11"), ("receive", "12"))])
    assert steps_of(workload) == [{"send": "order"}, {"expect": ""}]  # a server may join both


def test_two_exchanges_at_one_path_are_two_operations(tmp_path: Path) -> None:
    _, workload = made_of(tmp_path, [HOME, talk(("send", '{"sub":"list"}')), talk(("send", '{"sub":"order"}'), at_s=5)])
    assert workload.mix.sequence == ("home", "room", "room_2")
    assert steps_of(workload, "room_2") == [{"send": '{{"sub":"order"}}'}]


def test_whether_the_server_speaks_first_makes_no_difference_to_what_is_sent(tmp_path: Path) -> None:
    greeting = ("receive", "Welcome to all of you.")
    visits = []
    for key, first in (("abcd", True), ("efgh", False)):
        send = ("send", f'{{"key":"{key}"}}')
        order = (greeting, send) if first else (send, greeting)
        visits.append([entry(0, "http://a.example/", text=PAGE.format(key=key)), talk(*order)])
    _, workload = made_of(tmp_path, *visits)
    assert {"send": '{{"key":"{key}"}}'} in steps_of(workload)


def test_a_value_told_in_passing_is_pointed_at(tmp_path: Path) -> None:
    visits = (
        [
            HOME,
            talk(
                ("receive", f'{{"kind":"hello","socket":"{key}"}}'),
                ("send", f'{{"socket":"{key}"}}'),
                ("receive", '{"kind":"done"}'),
            ),
        ]
        for key in ("k7Qw90ZxVb12Lm34", "p0Ol81MnJu76Hy65")
    )
    made, _ = made_of(tmp_path, *visits)
    (place,) = made.places
    assert "comes from a message before the last" in place.missed


def test_bytes_that_the_browser_did_not_keep_are_sent_as_the_text_that_it_kept(tmp_path: Path) -> None:
    told = message(0.3, "send", "hello", 2), message(0.4, "send", "aGVsbG8=", 2)
    _, workload = made_of(tmp_path, [HOME, socket(0.2, *told)])
    assert steps_of(workload) == [{"send": "hello"}, {"send_bytes": "aGVsbG8="}]


LEAVES = st.text(max_size=8) | st.integers(-99, 99) | st.booleans() | st.none()
JSON = st.dictionaries(st.text(max_size=4), LEAVES | st.lists(LEAVES, max_size=3), max_size=4) | st.lists(
    LEAVES, max_size=4
)
MESSAGES = st.lists(
    st.builds(
        lambda kind, at_s, text, opcode: HarMessage(type=kind, time=at_s, data=text, opcode=opcode),
        st.sampled_from(["send", "receive", "other"]),
        st.floats(0, 60),
        st.text(max_size=20),
        st.integers(0, 3),
    )
)


@given(messages=MESSAGES)
def test_all_that_was_sent_is_sent_again_in_its_order(messages: list[HarMessage]) -> None:
    made = split_turns(messages, 0)
    assert [turn.sent for turn in made if turn.sent] == [
        one for one in messages if one.is_sent and one.opcode in (1, 2)
    ]
    assert not any(heard.is_sent for turn in made for heard in turn.heard)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("deadbeef0123456789ab", "d41d8cd98f00b204e980"),
        ("deadbeefabcdefabcd01", "deadbeefabcdefabcd12"),
        ("0123456789abcdefabcd", "9876543210fedcbaabcd"),
    ],
)
def test_parts_of_tokens_that_are_alike_by_chance_are_no_sign(first: str, second: str) -> None:
    texts = tuple(f'{{"kind": "in", "ticket": "{token}"}}' for token in (first, second))
    assert sign(texts) == '{"kind": "in", "ticket": "'
    assert sign(tuple(f"ticket {token} is open" for token in (first, second))) in ("ticket", "is open")


def test_numbered_names_are_a_sign_without_their_numbers() -> None:
    assert sign(('{"room": "lobby12"}', '{"room": "lobby77"}')) == '{"room": "lobby'


@given(texts=st.lists(st.text(max_size=60), min_size=1, max_size=3))
def test_a_sign_stands_in_all_of_them(texts: list[str]) -> None:
    assert all(sign(tuple(texts)) in text for text in texts)


@given(text=st.text(max_size=60) | JSON.map(json.dumps) | JSON.map(lambda value: f"42{json.dumps(value)}\x1e"))
def test_a_message_is_put_together_again(text: str) -> None:
    assert "".join(split_frame(text)) == text
    places = find_json_places(split_frame(text)[1])
    assert {pointer: value for pointer, value in list_leaves(text) if places} == {
        pointer: told if isinstance(told := json.loads(split_frame(text)[1][begin:end]), str) else json.dumps(told)
        for pointer, (begin, end) in places.items()
        if isinstance(json.loads(split_frame(text)[1][begin:end]), str | int | float)
        and not isinstance(json.loads(split_frame(text)[1][begin:end]), bool)
    }
