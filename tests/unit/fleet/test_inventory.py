"""Files of fleets as users write them, and what is said of wrong ones."""

from pathlib import Path

import pytest

from loadstone.fleet.inventory import read_fleet
from loadstone.model.errors import StudyError
from loadstone.model.fleet import BackEnd, Dealing, HostRole

GOOD = """
dealing = "pack"

[hosts.load-1]
roles = ["driver", "witness"]
addresses = { public = "10.0.0.2", private = "192.168.1.2" }
ssh = "ada@10.0.0.2"
cores = "0-3"

[hosts.server]
roles = ["system"]
addresses = { public = "10.0.0.3" }
memory = 4096
"""


def fleet(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "fleet.toml"
    file.write_text(text)
    return file


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(StudyError) as caught:
        read_fleet(fleet(tmp_path, text))
    return str(caught.value)


def test_hosts_have_roles_addresses_and_limits(tmp_path: Path) -> None:
    spec = read_fleet(fleet(tmp_path, GOOD))
    assert (spec.back_end, spec.dealing) == (BackEnd.RAY, Dealing.PACK)
    assert spec.with_role(HostRole.DRIVER) == spec.with_role(HostRole.WITNESS) == ("load-1",)
    assert spec.hosts["load-1"].address == "10.0.0.2" and spec.hosts["server"].memory == 4096


def test_all_that_is_wrong_is_told_at_once_with_its_place(tmp_path: Path) -> None:
    said = refused(tmp_path, GOOD.replace('"system"', '"sytem"').replace("memory = 4096", "memroy = 4096"))
    assert "fleet.toml:11" in said and "fleet.toml:13" in said
    assert "Did you mean `memory`?" in said and "`driver`, `system`, `witness`" in said


def test_names_and_addresses_are_looked_at(tmp_path: Path) -> None:
    said = refused(tmp_path, GOOD.replace("hosts.server", 'hosts."Server 1"').replace("10.0.0.3", "10.0.0.2"))
    assert "is not a valid host name" in said and "is also the address of load-1" in said
    private = GOOD.replace('{ public = "10.0.0.3" }', '{ private = "10.0.0.3" }')
    assert "lacks `public`" in refused(tmp_path, private)
    assert "hosts" in refused(tmp_path, 'dealing = "spread"\n')
    assert "10.0.0.300" in refused(tmp_path, GOOD.replace("10.0.0.3", "10.0.0.300"))


@pytest.mark.parametrize("words", ["-oProxyCommand=touch x", "-E/x", "ada@-oProxyCommand=x", "a b", "ada@", "a\\tb"])
def test_words_that_ssh_would_take_for_options_are_refused(words: str, tmp_path: Path) -> None:
    why = refused(tmp_path, GOOD.replace("ada@10.0.0.2", words))
    assert "ssh" in why


@pytest.mark.parametrize("address", ["127.0.0.1:99999", "head", "[::1:6380"])
def test_a_cluster_without_a_valid_port_is_refused(address: str, tmp_path: Path) -> None:
    assert "cluster" in refused(tmp_path, f'cluster = "{address}"\n{GOOD}')
