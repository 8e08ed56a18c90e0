"""Keys of a cluster, and what its processes are told."""

from pathlib import Path

import pytest

from loadstone.fleet import bootstrap, cluster
from loadstone.fleet.contract import FleetError, FoundHost, HostLostError
from loadstone.fleet.messages import answer_of
from loadstone.fleet.routes import compute_block
from loadstone.model.errors import ServiceError
from loadstone.model.fleet import FleetSpec

SPEC = FleetSpec.model_validate(
    {"hosts": {"a": {"roles": ["system"], "addresses": {"public": "127.0.0.1"}, "ssh": "a"}}}
)


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> cluster.Keys:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return bootstrap.make_keys(SPEC)


def test_keys_are_this_users_alone_and_stay_while_their_cluster_does(keys: cluster.Keys) -> None:
    files = {file.name: file.stat().st_mode & 0o777 for file in keys.folder.iterdir()}
    assert set(files.values()) == {0o600} and keys.folder.stat().st_mode & 0o077 == 0
    assert bootstrap.make_keys(SPEC).build_environment() == keys.build_environment()


def test_every_process_is_told_token_and_certificates(keys: cluster.Keys) -> None:
    told = keys.build_environment()
    assert told["RAY_AUTH_MODE"] == "token" and len(told["RAY_AUTH_TOKEN"]) == 64
    assert told["RAY_USE_TLS"] == "1"
    assert all(Path(told[f"RAY_TLS_{name}"]).is_file() for name in ("CA_CERT", "SERVER_CERT", "SERVER_KEY"))


@pytest.mark.parametrize(("silence_s", "failures"), [(1, "3"), (2, "3"), (3.5, "4"), (15, "15"), (60, "60")])
def test_a_cluster_gives_a_host_up_when_its_fleet_does(silence_s: float, failures: str) -> None:
    assert cluster.build_health_check(silence_s)["RAY_health_check_failure_threshold"] == failures


def test_a_token_that_others_can_read_is_refused(keys: cluster.Keys) -> None:
    (keys.folder / cluster.TOKEN).chmod(0o644)
    with pytest.raises(FleetError, match="can be read by other users"):
        keys.build_environment()


def test_without_keys_the_remedy_is_named(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match="`loadstone fleet up` creates them"):
        cluster.Keys(tmp_path / "none").build_environment()


def test_every_host_has_addresses_of_its_own_for_its_machines() -> None:
    blocks = [compute_block(number) for number in range(31)]
    assert len(set(blocks)) == 31 and not any(a.overlaps(b) for a in blocks for b in blocks if a != b)
    with pytest.raises(FleetError, match="31 hosts"):
        compute_block(31)


def test_an_error_of_a_supervisor_is_one_of_its_kind_here() -> None:
    assert answer_of({"value": 7}) == 7
    with pytest.raises(ServiceError, match="it ended"):
        answer_of({"error": "ServiceError", "text": "it ended"})
    with pytest.raises(HostLostError):
        answer_of({"error": "HostLostError", "text": "gone"})
    with pytest.raises(FleetError, match="odd"):
        answer_of({"error": "SomethingElse", "text": "odd"})
    assert FoundHost(True, "10.0.0.1").detail == ""
