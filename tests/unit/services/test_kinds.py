"""Every service declares what the testbed needs of it, and its program takes one type of site."""

from dataclasses import replace

import pytest

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services.kind import ServiceKind, Site
from loadstone.services.registry import list_service_kinds, list_service_roles

SITE = Site(
    "/files",
    "127.0.0.1",
    4001,
    2,
    tls_port=4002,
    certificates="/files/certificates",
    peers={"backend": "10.0.0.2:80", "database": "postgresql://u@10.0.0.2:1/d", "geocoder": "10.0.0.3:1"},
    shared_folder="/shared",
)
ALL = [kind for role in list_service_roles() for kind in list_service_kinds(role).values()]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: f"{kind.role}-{kind.name}")
def test_a_program_is_made_from_a_site_and_starts_where_the_site_says(kind: ServiceKind) -> None:
    mechanism = next(iter(kind.mechanisms), SITE.mechanism)
    program = kind.program(replace(SITE, mechanism=mechanism))
    text = "\n".join([*program.command, *program.files.values()])
    assert SITE.listen in text
    assert kind.port is None or str(SITE.port) in text
    assert not kind.has_tls or kind.port is None or str(SITE.tls_port) in text


def test_web_sites_take_downloads_from_a_shared_folder_before_a_store_that_answers_over_http() -> None:
    program = list_service_kinds(ServiceRole.WEB)[EMBEDDED].program
    site = replace(SITE, peers={"backend": "10.0.0.2:80", "store": "10.0.0.2:80"}, certificates="")
    folder = program(site).command
    assert folder[-2:] == ["--store-folder", "/shared"] and "--store" not in folder
    assert program(replace(site, shared_folder="")).command[-2:] == ["--store", "10.0.0.2:80"]
    assert "--store" not in program(replace(site, shared_folder="", peers={"backend": "10.0.0.2:80"})).command
