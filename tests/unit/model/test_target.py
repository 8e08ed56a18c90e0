"""Addresses as users write them: what cannot be one is refused with the reason."""

import pytest

from loadstone.model.errors import UsageError
from loadstone.model.target import Endpoint, Target


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("127.0.0.1:80", "127.0.0.1", 80), ("[::1]:0", "[::1]", 0), ("shop.example:65535", "shop.example", 65535)],
)
def test_a_host_and_a_port_are_read(text: str, host: str, port: int) -> None:
    assert Endpoint.parse(text) == Endpoint(host, port)


@pytest.mark.parametrize(
    "text",
    [
        *("", ":80", "a", "a:", "a:x", "a:-1", "a:65536", "a:99999", "a:" + "9" * 5000, "a:\u0665", "[::1:80"),
        *("::1]:80", "[x]:80", "::1:80", "-oProxyCommand=x:80", "a b:80", "a/b:80", "user@a:80"),
    ],
)
def test_what_is_no_host_and_port_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"HOST:PORT|valid port"):
        Endpoint.parse(text)


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "http://a:99999",
        "http://a:0",
        "http://a:x",
        "http://",
        "a:80",
        "ftp://a",
        "http://a/path",
        "http://[",
    ],
)
def test_what_is_no_target_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        Target.parse([url])


def test_a_target_has_the_usual_port_of_its_scheme() -> None:
    target = Target.parse(["http://[::1]", "https://a"])
    assert (target.http, target.https) == (Endpoint("[::1]", 80), Endpoint("a", 443))


def test_a_mail_server_accepts_mail_at_an_address_of_its_own() -> None:
    target = Target.parse(["http://a:143", "lmtp://a"])
    assert (target.http, str(target.delivery)) == (Endpoint("a", 143), "lmtp://a:24")
    assert str(Target.parse(["smtp://b:2525", "http://a:143"]).delivery) == "smtp://b:2525"
    assert Target.parse(["http://a:143"]).delivery is None


@pytest.mark.parametrize("urls", [["lmtp://a"], ["http://a", "lmtp://a", "smtp://a"], ["http://a", "smtp://a/path"]])
def test_addresses_that_accept_mail_need_one_that_is_read_from(urls: list[str]) -> None:
    with pytest.raises(UsageError):
        Target.parse(urls)


def test_a_name_with_other_letters_is_sent_by_punycode() -> None:
    assert Target.parse(["https://Bücher.example:8443"]).https == Endpoint("xn--bcher-kva.example", 8443)


@pytest.mark.parametrize("url", ["http://ann:secret@a.example", "http://ann@a.example"])
def test_credentials_in_a_target_are_refused_and_not_shown(url: str) -> None:
    with pytest.raises(UsageError, match="contains a name or a password") as told:
        Target.parse([url])
    assert "ann" not in str(told.value) and "secret" not in str(told.value)


@pytest.mark.parametrize("url", ["http://a example", "http://a%20b", "http://a..\u00fc", "http://{host}"])
def test_what_can_be_no_name_of_a_host_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is not a valid host name"):
        Target.parse([url])


def test_a_target_has_the_same_ports_at_another_address_of_its_machine() -> None:
    urls = ["http://10.0.0.2:80", "https://10.0.0.2:443", "lmtp://10.0.0.2:24"]
    moved = Target.parse(urls, "pem").with_address("10.0.1.2")
    assert (moved.http, moved.https) == (Endpoint("10.0.1.2", 80), Endpoint("10.0.1.2", 443))
    assert moved.delivery is not None and str(moved.delivery) == "lmtp://10.0.1.2:24"
    assert moved.authority_pem == "pem"
    assert Target.parse(["http://10.0.0.2:80"]).with_address("10.0.1.2").https is None
