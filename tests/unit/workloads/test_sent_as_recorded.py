"""What is sent is what was recorded: each request by itself, for whichever site is played, without its passwords."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from loadstone.model.errors import UsageError
from loadstone.model.load import Population
from loadstone.model.profile import Phases
from loadstone.model.target import Target
from loadstone.model.workload.values import Environment
from loadstone.run.plan import Timing, WorkloadLoad, make_plan
from loadstone.workloads import load
from loadstone.workloads.importers.from_har import Recording, read_recording
from loadstone.workloads.importers.imported import Imported
from tests.unit.workloads.test_from_har import START, entry

FORM = "application/x-www-form-urlencoded"
SITE = "http://a.example"
TOKEN = "5f3c9a1e7b2d4c608f1e2d3c4b5a6978"


def post(at_s: float, path: str, text: str, kind: str = FORM, **changes: Any) -> dict[str, Any]:
    request = {"method": "POST", "postData": {"mimeType": kind, "text": text}, **changes.pop("request", {})}
    return entry(at_s, SITE + path, "application/json", request=request, **{"text": "{}", **changes})


def home(at_s: float = 0, text: str = "<title>Shop</title>", **changes: Any) -> dict[str, Any]:
    return entry(at_s, f"{SITE}/", text=text, **changes)


def recording(tmp_path: Path, *visits: list[dict[str, Any]], site: str = "") -> Recording:
    files = []
    for number, entries in enumerate(visits):
        files.append(tmp_path / f"{number}.har")
        files[-1].write_text(json.dumps({"log": {"entries": entries}}))
    return read_recording(files[0], files[1] if len(files) > 1 else None, site=site)


def imported(tmp_path: Path, *visits: list[dict[str, Any]], site: str = "") -> Imported:
    made = recording(tmp_path, *visits, site=site).build_workload("my-shop")
    (tmp_path / "workload.toml").write_text(made.text)
    return made


def sent(tmp_path: Path, target: str = SITE) -> list[dict[str, Any]]:
    """The requests of the visit as the driver is told them, in their order."""
    workload = load(str(tmp_path))
    timing = Timing(Phases(0, 0, 1, 0), 1)
    (part,) = make_plan([WorkloadLoad(workload, Population(1), (Target.parse([target]),))], timing)["parts"]
    operations = {one["name"]: one for one in part["workload"]["operations"]}
    return [operations[name] for name in workload.mix.sequence]


def json_of(number: int, **members: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, **members})


def multipart(name: str) -> str:
    return f'--x\r\nContent-Disposition: form-data; name="what"\r\n\r\n{name}\r\n--x--\r\n'


SEVERAL = {
    "graphql": [
        post(0, "/graphql", json.dumps({"query": f"{{ {what} {{ id }} }}"}), "application/json") for what in "abc"
    ],
    "json-rpc": [post(0, "/rpc", json_of(number, method=f"m{number}"), "application/json") for number in (1, 2, 3)],
    "form": [post(0, "/cart", f"product={number}") for number in (5, 9, 12)],
    "action": [post(0, "/index.php?action=" + what, "x=1") for what in ("list", "add", "pay")],
    "search": [entry(0, f"{SITE}/search?q={what}", text="<title>Shop</title>") for what in ("chairs", "lamps", "mats")],
    "article": [entry(0, f"{SITE}/?p={number}", text="<title>Shop</title>") for number in (1, 2, 3)],
    "soap": [
        post(0, "/soap", "<a/>", "text/xml", request={"headers": [{"name": "SOAPAction", "value": f'"urn:{what}"'}]})
        for what in ("Find", "Order", "Pay")
    ],
    "soap in the body": [post(0, "/soap", f"<{what}/>", "text/xml") for what in ("Find", "Order", "Pay")],
    "multipart": [post(0, "/up", multipart(what), "multipart/form-data; boundary=x") for what in "abc"],
    "graphql by GET": [
        entry(0, f"{SITE}/graphql?query={quote(f'{{ {what} }}')}", "application/json", _resourceType="fetch")
        for what in "abc"
    ],
    "fields twice": [post(0, "/pick", f"size=1&size={number}") for number in (2, 3, 4)],
    "bodies that are no text": [post(0, "/raw", chr(number) * 3, "application/octet-stream") for number in (1, 2, 3)],
}


def at(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same at moments of their own."""
    moments = (datetime.fromtimestamp(START.timestamp() + 3 + 3 * number, UTC) for number in range(len(entries)))
    return [{**one, "startedDateTime": moment.isoformat()} for one, moment in zip(entries, moments, strict=True)]


@pytest.mark.parametrize("what", SEVERAL)
def test_requests_of_one_path_that_differ_are_operations_of_their_own(tmp_path: Path, what: str) -> None:
    imported(tmp_path, [home(), *at(SEVERAL[what])])
    made = sent(tmp_path)
    assert len({one["name"] for one in made}) == 4
    bodies = [(one["path"], json.dumps(one["query"]), one["body"], json.dumps(one["form"])) for one in made[1:]]
    assert len(set(bodies)) == 3 or "SOAPAction" in json.dumps(made[1]["headers"]) or what == "bodies that are no text"


def test_the_same_request_is_one_operation_however_often_it_comes(tmp_path: Path) -> None:
    imported(tmp_path, [home(), *at([post(0, "/cart", "product=5")] * 3)])
    assert load(str(tmp_path)).mix.sequence == ("home", "cart", "cart", "cart")


def test_names_say_what_is_done(tmp_path: Path) -> None:
    def named(what: str) -> tuple[str, ...]:
        (tmp_path / what).mkdir()
        imported(tmp_path / what, [home(), *at(SEVERAL[what])])
        return load(str(tmp_path / what)).mix.sequence[1:]

    assert named("json-rpc") == ("rpc_m1", "rpc_m2", "rpc_m3")
    assert named("graphql") == ("graphql_a", "graphql_b", "graphql_c")
    assert named("form") == ("cart_product_5", "cart_product_9", "cart_product_12")
    assert named("search") == ("search_chairs", "search_lamps", "search_mats")
    assert named("article") == ("home_p_1", "home_p_2", "home_p_3")
    assert named("action") == ("index_php_list", "index_php_add", "index_php_pay")


def test_requests_that_differ_in_tokens_alone_are_merged_and_said_to_be(tmp_path: Path) -> None:
    def form(at_s: float, token: str) -> list[dict[str, Any]]:
        page = f'<title>Form</title><input name="csrf" value="{token}">'
        return [entry(at_s, f"{SITE}/form", text=page), post(at_s + 3, "/send", f"csrf={token}&note=a")]

    made = imported(tmp_path, [*form(0, TOKEN), *form(9, TOKEN[::-1])])
    assert load(str(tmp_path)).mix.sequence == ("form", "send", "form", "send")
    (told,) = (what for what in made.doubts if "send" in what)
    assert told.startswith("send replaces 2 requests")
    assert [one["form"] for one in sent(tmp_path)[1::2]] == 2 * [
        [{"name": "csrf", "value": "{csrf}"}, {"name": "note", "value": "a"}]
    ]


def test_the_moment_of_a_request_is_that_of_the_play(tmp_path: Path) -> None:
    moments = [round((START.timestamp() + at_s) * 1000) for at_s in (3, 6)]
    imported(tmp_path, [home(), *at([entry(0, f"{SITE}/poll?_={one}", "application/json") for one in moments])])
    workload = load(str(tmp_path))
    assert workload.mix.sequence == ("home", "poll", "poll")
    assert workload.operations["poll"].query == {"_": "{now_ms}"}
    assert workload.values["now_ms"].kind == "now"


def test_text_behind_the_moment_of_a_request_is_sent_as_recorded(tmp_path: Path) -> None:
    moments = [round((START.timestamp() + at_s) * 1000) for at_s in (4, 4.2)]
    forms = [f"_nocache={moment}{digits}&row=7" for moment, digits in zip(moments, (441779, 20731), strict=True)]
    made = imported(tmp_path, *([home(), post(4, "/rows", form)] for form in forms))
    workload = load(str(tmp_path))
    assert workload.operations["rows"].form == {"_nocache": "{now_ms}441779", "row": "7"}
    assert workload.values["now_ms"].kind == "now"
    assert [place.missed for place in made.places if not place.correlated.value] == []


def test_a_text_that_begins_with_an_earlier_moment_is_not_a_moment(tmp_path: Path) -> None:
    early = [round(START.timestamp() * 1000) - days * 86_400_000 for days in (3, 4)]
    imported(tmp_path, *([home(), post(4, "/rows", f"since={moment}77")] for moment in early))
    assert not load(str(tmp_path)).values


def test_a_moment_that_the_site_gave_out_is_sent_back(tmp_path: Path) -> None:
    moment = f"{START.timestamp():.0f}"
    page = f'<title>Form</title><input type=hidden name=shown_at value="{moment}">'
    imported(tmp_path, [home(text=page), post(4, "/send", f"shown_at={moment}")])
    workload = load(str(tmp_path))
    assert workload.operations["send"].form == {"shown_at": "{shown_at}"}
    assert workload.operations["home"].extract[0].field == "shown_at"
    assert not workload.values


def test_a_uuid_that_the_program_makes_is_made_anew(tmp_path: Path) -> None:
    ids = ("0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7")
    imported(tmp_path, *([home(), post(3, "/pay", json.dumps({"key": one}), "application/json")] for one in ids))
    workload = load(str(tmp_path))
    assert workload.operations["pay"].body == '{{"key": "{uuid}"}}'
    assert workload.values["uuid"].kind == "uuid"


@pytest.mark.parametrize("rest", ["items%5B%5D=1&items%5B%5D=2", "note=first%0D%0Asecond", "note=a&submit", "a=%C3%BC"])
def test_a_token_is_taken_from_the_page_whatever_else_a_form_holds(tmp_path: Path, rest: str) -> None:
    page = f'<title>Form</title><input type=hidden name=csrf value="{TOKEN}">'
    imported(tmp_path, [entry(0, f"{SITE}/form", text=page), post(4, "/form", f"csrf={TOKEN}&{rest}")])
    (_, made) = sent(tmp_path)
    assert made["form"][0] == {"name": "csrf", "value": "{csrf}"}
    names = [one["name"] for one in made["form"]]
    assert names == ["csrf", *(part.partition("=")[0].replace("%5B%5D", "[]") for part in rest.split("&"))]
    assert made["body"] is None


def test_a_token_in_a_query_with_a_field_twice_is_taken_too(tmp_path: Path) -> None:
    page = f'<title>Form</title><input type=hidden name=nonce value="{TOKEN}">'
    imported(tmp_path, [home(text=page), entry(4, f"{SITE}/list?id=1&id=2&nonce={TOKEN}")])
    assert [(one["name"], one["value"]) for one in sent(tmp_path)[1]["query"]] == [
        *(("id", "1"), ("id", "2"), ("nonce", "{nonce}"))
    ]


PASSWORD = "Secret-123-pw"
LOGINS = {
    "form": post(3, "/login", f"log=ann&pwd={PASSWORD}&go=1"),
    "nested": post(3, "/login", f"user%5Bemail%5D=ann&user%5Bpassword%5D={PASSWORD}"),
    "json": post(3, "/login", json.dumps({"username": "ann", "password": PASSWORD}), "application/json"),
    "camel": post(3, "/login", json.dumps({"a": {"userName": "ann", "newPassword": PASSWORD}}), "application/json"),
    "typed": post(3, "/login", f"user=ann&geheim={PASSWORD}"),
    "twice": post(3, "/login", f"user=ann&a=1&a=2&password={PASSWORD}&again={PASSWORD}"),
    "multipart": post(
        *(3, "/login", multipart(PASSWORD).replace('"what"', '"password"'), "multipart/form-data; boundary=x")
    ),
    "xml": post(3, "/login", f"<a><user>ann</user><Password>{PASSWORD}</Password></a>", "text/xml"),
    "query": entry(3, f"{SITE}/login?user=ann&password={PASSWORD}"),
}


@pytest.mark.parametrize("how", LOGINS)
def test_a_password_is_read_from_the_environment_and_written_nowhere(tmp_path: Path, how: str) -> None:
    page = home(text='<title>Shop</title><input name="geheim" type="password">')
    made = imported(tmp_path, [page, LOGINS[how]])
    assert PASSWORD not in made.text + str(made.correlated) + str(made.doubts) + str(made.left_out)
    assert "{password}" in json.dumps(sent(tmp_path)[1])
    value = load(str(tmp_path)).values["password"]
    assert value == Environment(kind="environment", variable="MY_SHOP_PASSWORD")
    if how != "xml":
        ((variable, place), *_) = made.passwords
        assert variable == "MY_SHOP_PASSWORD"
        assert "of login" in place


def test_two_passwords_are_two_variables_and_a_switch_is_none(tmp_path: Path) -> None:
    form = f"password={PASSWORD}&new_password=Another-456&show_password=on"
    made = imported(tmp_path, [home(), post(3, "/change", form)])
    assert load(str(tmp_path)).operations["change"].form == {
        "password": "{password}",
        "new_password": "{password_2}",
        "show_password": "on",
    }
    assert [variable for variable, _ in made.passwords] == ["MY_SHOP_PASSWORD", "MY_SHOP_PASSWORD_2"]


def test_a_password_that_is_a_common_word_stays_where_it_is_none(tmp_path: Path) -> None:
    imported(tmp_path, [home(), post(3, "/login", "role=guest&password=guest")])
    assert load(str(tmp_path)).operations["login"].form == {"role": "guest", "password": "{password}"}


def test_the_account_beside_a_password_is_pointed_at(tmp_path: Path) -> None:
    made = imported(tmp_path, [home(), LOGINS["form"]])
    (told,) = (what for what in made.doubts if "account" in what)
    assert told.startswith("field log of login is `ann` for all sessions")
    assert "{account.log}" in told


def test_the_recorded_host_is_the_target_wherever_it_stands(tmp_path: Path) -> None:
    coded = quote(SITE, safe="")
    visit = [
        home(),
        entry(0.1, f"{SITE}/frame.js?from={coded}%2Fx", "text/javascript"),
        post(3, "/login", f"user=ann&redirect_to={coded}%2Fadmin"),
        post(6, "/token", json.dumps({"client_id": f"{SITE}/", "other": f"{SITE}.evil/"}), "application/json"),
        entry(9, f"{SITE}/authorize?redirect_uri={coded}%2Fback&again={coded}"),
        entry(12, f"{SITE}/go?a=1&a=2&to={coded}%2Fback"),
    ]
    imported(tmp_path, visit)
    other = "http://b.example:8080"
    page, login, token, authorize, go = sent(tmp_path, other)
    assert SITE not in json.dumps([page, authorize, login, go]) and coded not in json.dumps([page, go])
    assert page["embedded"][0]["path"] == f"/frame.js?from={quote(other, safe='')}%2Fx"
    assert login["form"][1]["value"] == f"{other}/admin"
    assert token["body"] == f'{{{{"client_id": "{other}/", "other": "{SITE}.evil/"}}}}'
    assert [one["value"] for one in authorize["query"]] == [f"{other}/back", other]
    assert go["query"][2]["value"] == f"{other}/back"


MOVED = "<html><title>301 Moved Permanently</title></html>"


def shop(site: str) -> list[dict[str, Any]]:
    return [
        entry(0.15, f"{site}/", text="<title>Shop</title>"),
        entry(0.3, f"{site}/a.css", "text/css"),
        entry(5, f"{site}/cart", text="<title>Cart</title>"),
    ]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("http://shop.example", "https://shop.example"),
        ("https://shop.example", "https://www.shop.example"),
        ("http://SHOP.example:80", "https://www.shop.example:8443"),
        ("https://shop.example", "https://eu.othershop.example"),
    ],
)
def test_redirects_of_the_first_address_lead_to_the_site(tmp_path: Path, first: str, then: str) -> None:
    visit = [entry(0, f"{first}/", text=MOVED, status=301, response={"redirectURL": f"{then}/"}), *shop(then)]
    made = imported(tmp_path, visit)
    assert made.target == then
    assert load(str(tmp_path)).mix.sequence == ("home", "cart")


def test_a_log_in_elsewhere_is_not_the_site(tmp_path: Path) -> None:
    sso = "https://id.example"
    visit = [
        entry(0, "https://shop.test/", status=302, response={"redirectURL": f"{sso}/login"}),
        entry(0.1, f"{sso}/login", text="<title>Log in</title>"),
        entry(5, "https://shop.test/account", text="<title>Account</title>"),
        entry(9, "https://shop.test/cart", text="<title>Cart</title>"),
    ]
    assert imported(tmp_path, visit).target == "https://shop.test"


def test_hosts_are_compared_as_addresses_are(tmp_path: Path) -> None:
    made = imported(tmp_path, [entry(0, "http://Shop.Example:80/"), entry(4, "http://shop.example/cart")])
    assert made.target == "http://shop.example"
    assert made.operations == 2
    assert not made.left_out


def interface() -> list[dict[str, Any]]:
    api = "https://api.shop.example"
    calls = [
        entry(0.3 + 3 * n, f"{api}/{path}", "application/json", _resourceType="fetch") for n, path in enumerate("abc")
    ]
    return [entry(0, "https://app.shop.example/", text="<title>Shop</title>"), *calls]


def test_the_interface_of_a_page_is_played_where_more_is_asked_of_it(tmp_path: Path) -> None:
    visit = [*interface(), entry(12, "https://api.shop.example/d", "application/json", request={"method": "POST"})]
    made = imported(tmp_path, visit)
    assert (made.target, made.operations) == ("https://api.shop.example", 4)
    assert any("https://app.shop.example (1)" in what for what in made.left_out)


def test_the_site_can_be_chosen(tmp_path: Path) -> None:
    for wanted, count in (("https://app.shop.example", 1), ("api.shop.example", 3)):
        assert recording(tmp_path, interface(), site=wanted).build_workload("x").operations == count
    with pytest.raises(UsageError, match="no request to the site `www"):
        recording(tmp_path, interface(), site="www.shop.example")


def test_a_visit_of_which_nothing_can_be_played_is_refused_with_its_reasons(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"no request to http://a.example that can be played. Left out: .*got no response"
    ):
        recording(tmp_path, [entry(0, f"{SITE}/", status=0)])


def test_name_and_password_of_http_basic_are_read_from_the_environment(tmp_path: Path) -> None:
    allowed = {"headers": [{"name": "Authorization", "value": "Basic YW5uOlNlY3JldC0xMjMtcHc="}]}
    made = imported(tmp_path, [home(request=allowed), entry(5, f"{SITE}/next", request=allowed)])
    assert "YW5uOl" not in made.text + str(made.correlated) + str(made.doubts)
    for operation in load(str(tmp_path)).operations.values():
        assert operation.headers["Authorization"] == "Basic {basic_credentials}"
    assert made.passwords == (("MY_SHOP_BASIC_CREDENTIALS", "header Authorization of home, next"),)


def test_parts_of_one_name_are_looked_up_each(tmp_path: Path) -> None:
    page = f'<title>Form</title><input type=hidden name=nonce value="{TOKEN}">'
    parts = "".join(
        f'--x\r\nContent-Disposition: form-data; name="key"\r\n\r\n{text}\r\n' for text in ("first\r\nline", TOKEN)
    )
    kind = "multipart/form-data; boundary=x"
    imported(tmp_path, [home(text=page), post(4, "/up", f"{parts}--x--\r\n", kind)])
    assert sent(tmp_path)[1]["body"].split("\r\n")[3:5] == ["first", "line"]
    assert TOKEN not in sent(tmp_path)[1]["body"]


def test_a_form_in_an_older_charset_is_sent_as_it_was_but_for_its_token(tmp_path: Path) -> None:
    page = f'<title>Form</title><input type=hidden name=csrf value="{TOKEN}">'
    imported(tmp_path, [home(text=page), post(4, "/send", f"name=M%FCller&csrf={TOKEN}&a=1")])
    assert sent(tmp_path)[1]["body"] == "name=M%FCller&csrf={csrf}&a=1"


def test_a_part_whose_text_stands_in_an_earlier_part_too_is_the_one_that_is_replaced(tmp_path: Path) -> None:
    kind = "multipart/form-data; boundary=x"

    def visit(revision: str) -> list[dict[str, Any]]:
        page = f'<title>Form</title><input type=hidden name=revision value="{revision}">'
        texts = {"scroll": "0", "revision": revision, "section": "0", "parent": revision}
        parts = (f'--x\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{text}\r\n' for n, text in texts.items())
        return [home(text=page), post(4, "/save", f"{''.join(parts)}--x--\r\n", kind)]

    imported(tmp_path, visit("0"), visit("2"))
    assert sent(tmp_path)[1]["body"].split("\r\n")[3::4] == ["0", "{revision}", "0", "{revision}"]


def test_a_field_in_an_older_charset_is_replaced_where_it_stands(tmp_path: Path) -> None:
    forms = {revision: f"name=M%FCller&page=1&from=17&revision={revision}" for revision in ("1", "2")}
    pages = (f'<title>Form</title><input type=hidden name=revision value="{revision}">' for revision in forms)
    imported(
        tmp_path, *([home(text=page), post(4, "/send", form)] for page, form in zip(pages, forms.values(), strict=True))
    )
    assert sent(tmp_path)[1]["body"] == "name=M%FCller&page=1&from=17&revision={revision}"


def test_a_password_is_written_nowhere_else_either(tmp_path: Path) -> None:
    led = {"headers": [{"name": "Referer", "value": f"{SITE}/login?password={PASSWORD}"}]}
    form = f"state=%7B%22typed%22%3A%22{PASSWORD}%22%7D"
    visit = [home(), LOGINS["query"], post(6, "/next", form, request=led), entry(9, f"{SITE}/x?a=1&a=2&b=/{PASSWORD}/")]
    made = imported(tmp_path, visit)
    assert PASSWORD not in made.text + str(made.correlated) + str(made.doubts)
    assert load(str(tmp_path)).operations["next"].form == {"state": '{{"typed":"{password}"}}'}


def test_fields_of_any_names_are_told_apart(tmp_path: Path) -> None:
    page = f'<title>Form</title><input type=hidden name=csrf value="{TOKEN}">'
    imported(tmp_path, [home(text=page), post(4, "/send", f"a=1&a+(2)=2&a=3&a=4&csrf={TOKEN}")])
    assert [field["value"] for field in sent(tmp_path)[1]["form"]] == ["1", "2", "3", "4", "{csrf}"]


def test_cookies_that_no_answer_set_are_named(tmp_path: Path) -> None:
    sets = {"headers": [{"name": "Set-Cookie", "value": "sid=1; Path=/"}]}
    sends = {"headers": [{"name": "Cookie", "value": "sid=1; theme=dark; _ga=2"}]}
    made = imported(tmp_path, [home(response=sets), entry(4, f"{SITE}/next", request=sends)])
    (told,) = (what for what in made.doubts if "cookies" in what)
    assert told.endswith("are not sent: theme, _ga. If the site needs one, add `Cookie` to the operation's headers")


def test_what_the_browser_says_of_itself_is_kept(tmp_path: Path) -> None:
    says = {"headers": [{"name": "accept-language", "value": "de"}, {"name": "User-Agent", "value": "Firefox {1}"}]}
    imported(tmp_path, [home(request=says)])
    headers = load(str(tmp_path)).headers
    assert (headers["Accept-Language"], headers["User-Agent"]) == ("de", "Firefox {{1}}")


def test_a_text_of_both_answers_tells_a_page_without_a_title(tmp_path: Path) -> None:
    def visit(number: int) -> list[dict[str, Any]]:
        answer = json.dumps({"status": "all is well", "number": number})
        sends = post(3, "/send", "a=1")
        sends["response"]["content"]["text"] = answer
        page = entry(6, f"{SITE}/p", text=f"<title>{number}</title><b>Yours")
        return [home(), sends, page]

    made = imported(tmp_path, visit(4711), visit(2323))
    operations = load(str(tmp_path)).operations
    assert operations["send"].contains == ('{{"status": "all is well", "number":',)
    assert operations["p"].title is None
    assert operations["p"].contains == ("</title><b>Yours",)
    assert made.by_status == 0


def test_requests_that_a_program_numbers_in_a_header_are_one_operation(tmp_path: Path) -> None:
    def traced(number: int) -> dict[str, Any]:
        headers = [
            {"name": "traceparent", "value": f"00-4bf92f3577b34da6a3ce929d0e0e47{number:02}-00f067aa0ba902b7-01"}
        ]
        return entry(0, f"{SITE}/poll", "application/json", request={"headers": headers})

    made = imported(tmp_path, [home(), *at([traced(number) for number in range(5)])])
    assert load(str(tmp_path)).mix.sequence == ("home", *(5 * ["poll"]))
    (told,) = (what for what in made.doubts if "poll" in what)
    assert told.startswith("poll replaces 5 requests that differ only in extracted")
    assert any("header traceparent of poll occurs in no earlier response" in place.missed for place in made.places)


def test_a_recording_without_content_is_pointed_at(tmp_path: Path) -> None:
    made = imported(tmp_path, [home(text=""), entry(4, f"{SITE}/next")])
    assert made.doubts[0].startswith("the recording contains no responses: save the list as HAR with content")
    assert made.by_status == 2


def test_a_password_that_json_escapes_is_sent_in_its_escaped_form(tmp_path: Path) -> None:
    body = json.dumps({"user": "ann", "password": 'gran"ite-1'})
    made = recording(tmp_path, [home(), post(3, "/login", body, "application/json")])
    assert made.list_secrets("mine") == {"MINE_PASSWORD": 'gran\\"ite-1'}
    assert made.build_workload("mine").doubts[0].startswith("MINE_PASSWORD must contain the password in JSON notation")
