"""A look at addresses: the workload that is made of them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.model.errors import UsageError
from loadstone.workloads import load
from loadstone.workloads.look import is_address, look_at


def test_a_look_is_a_workload_of_these_pages(tmp_path: Path) -> None:
    look = look_at(
        ["https://shop.example:8443/a b?q=x%20y&n={1}", "https://shop.example:8443", "HTTPS://shop.example:8443/"]
    )
    (tmp_path / "workload.toml").write_text(look.text)
    workload = load(str(tmp_path))
    assert look.target == "https://shop.example:8443"
    assert workload.name == look.name == "shop-example"
    paths = {name: operation.path for name, operation in workload.operations.items()}
    assert paths == {"a_b": "/a%20b?q=x%20y&n={{1}}", "home": "/", "home_2": "/"}
    assert workload.headers["Accept-Encoding"].startswith("gzip")


@pytest.mark.parametrize("words", [["http://"], ["http://:80/"], ["http://u:p@host/"], ["http://host:99999/"]])
def test_what_is_no_address_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError, match="is not a valid page address"):
        look_at(words)


def test_several_sites_are_refused_and_names_are_no_addresses() -> None:
    with pytest.raises(UsageError, match="several sites"):
        look_at(["http://a.example/", "http://b.example/"])
    assert not is_address("banking") and not is_address("./http") and is_address("HTTP://a")


@given(st.text(max_size=40))
def test_any_address_is_taken_or_refused_in_words(rest: str) -> None:
    try:
        look = look_at([f"http://host/{rest}"])
    except UsageError:
        return
    assert look.target == "http://host"


def test_credentials_in_an_address_are_refused_and_not_shown() -> None:
    with pytest.raises(UsageError, match="contains credentials") as told:
        look_at(["http://ann:secret@shop.example/"])
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("name", ["localhost:8080", "127.0.0.1:80/a", "[::1]:80", "ws://a.example/", "www.a.example"])
def test_an_address_without_its_scheme_is_named_as_one(name: str) -> None:
    with pytest.raises(UsageError, match=r"is not a workload, and as an address it .* Use http://"):
        load(name)


def test_hosts_in_capitals_are_one_site() -> None:
    assert look_at(["http://A.example/", "http://a.EXAMPLE/x"]).target == "http://a.example"


def test_usual_ports_are_one_site() -> None:
    assert look_at(["http://a.example/", "http://a.example:80/x"]).target == "http://a.example"
    assert look_at(["https://a.example:443/", "https://a.example/x"]).target == "https://a.example"
    with pytest.raises(UsageError, match="several sites"):
        look_at(["http://a.example/", "http://a.example:443/"])


def test_a_file_that_is_no_workload_is_sent_to_its_importer(tmp_path: Path) -> None:
    (tmp_path / "visit.har").write_text("{}")
    with pytest.raises(
        UsageError, match=r"is not a workload, but a file. Import a recording with `loadstone workloads"
    ):
        load(str(tmp_path / "visit.har"))
