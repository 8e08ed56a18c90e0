"""Plans are pure, and are what the driver's schema says."""

from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from loadstone.model.errors import UsageError
from loadstone.model.load import POISSON, Load, Population, make_load
from loadstone.model.profile import PROFILES
from loadstone.model.target import Endpoint, Identity, Target
from loadstone.run.plan import Json, Timing, WorkloadLoad, count_source_addresses, make_plan, plan_target
from loadstone.workloads import list_shipped
from loadstone.workloads import load as load_workload
from tests.places import PLAN_SCHEMA

TIMING = Timing(PROFILES["quick"].phases, 7, 1)
SESSIONS = Population(200)
BOTH = Target(Endpoint("127.0.0.1", 80), Endpoint("127.0.0.1", 443), "PEM")


def planned(name: str, target: Target | None = BOTH, load: Load = SESSIONS) -> Json:
    return make_plan([WorkloadLoad(load_workload(name), load, (target,) if target else ())], TIMING)


def workload(name: str, target: Target | None = BOTH) -> Json:
    return planned(name, target)["parts"][0]["workload"]


@pytest.mark.parametrize("name", list_shipped())
def test_plans_fit_the_drivers_schema(name: str) -> None:
    plan = planned(name)
    jsonschema.validate(plan, PLAN_SCHEMA)
    assert plan == planned(name)


def test_scaled_values_follow_the_number_of_sessions() -> None:
    values = {value["name"]: value for value in workload("support", None)["values"]}
    assert values["directory"]["n"] == 50  # a quarter of a directory a session


def test_tls_is_where_the_workload_wants_it() -> None:
    def secure(name: str) -> set[str]:
        operations = workload(name)["operations"]
        return {operation["name"] for operation in operations if operation["scheme"] == "https"}

    assert len(secure("banking")) == 16
    assert secure("shopping") == {"login", "shipping", "billing", "confirm"}
    assert not secure("support")


def test_a_target_without_the_needed_side_is_refused() -> None:
    with pytest.raises(UsageError, match="needs https"):
        planned("banking", Target(Endpoint("127.0.0.1", 80), None))


def test_only_a_workload_that_sends_mail_is_told_where_a_server_accepts_it() -> None:
    mail = Target.parse(["http://127.0.0.1:143", "lmtp://127.0.0.1:24"])
    delivery = {"protocol": "lmtp", "endpoint": {"host": "127.0.0.1", "port": 24}}
    heavy, plain = planned("mail:heavy", mail), planned("mail", mail)
    jsonschema.validate(heavy, PLAN_SCHEMA)
    assert heavy["parts"][0]["targets"][0]["delivery"] == delivery
    assert "delivery" not in plain["parts"][0]["targets"][0]
    assert heavy["parts"][0]["workload"]["operations"][-1]["path"] == "SEND 3.08"
    assert len(plain["parts"][0]["workload"]["operations"]) == 12
    with pytest.raises(UsageError, match="sends mail"):
        planned("mail:heavy", Target.parse(["http://127.0.0.1:143"]))


@pytest.mark.parametrize("text", ["localhost", "ftp://x", "http://", "http://x/path", "http://x:99999"])
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Target.parse([text])


def test_two_targets_of_one_scheme_are_refused() -> None:
    with pytest.raises(UsageError, match="two targets"):
        Target.parse(["http://a", "http://b"])


def test_users_come_from_one_address_unless_more_are_asked_for_or_ports_run_out() -> None:
    site = load_workload("support")
    here = Target(Endpoint("127.0.0.1", 80), None)

    def sources(target: Target, load: int | str, **connections: int) -> int:
        changed = replace(site, connections=site.connections.model_copy(update=connections))
        wanted = Population(load) if isinstance(load, int) else make_load(None, load, None, POISSON)
        return count_source_addresses(WorkloadLoad(changed, wanted, (target,)), TIMING.phases)

    assert sources(here, 100) == 1
    assert sources(here, "100") == 1
    assert sources(here, "1000") == 16
    assert sources(here, 20_000) == 16
    assert sources(here, 100, source_addresses=4) == 4
    assert sources(replace(here, source_addresses=2), 20_000, source_addresses=4) == 2


def test_a_plan_holds_the_paths_of_a_client_certificate_alone(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("a certificate")
    target = Target(Endpoint("127.0.0.1", 80), None, identity=Identity.from_files(tmp_path / "cert.pem", None))
    assert plan_target(target)["identity"] == {
        "certificate": str(tmp_path / "cert.pem"),
        "key": str(tmp_path / "cert.pem"),
    }
    with pytest.raises(UsageError, match="Add --cert FILE"):
        Identity.from_files(None, tmp_path / "cert.pem")
