"""Settings of programs that users change: read, checked, and found in the programs' configuration."""

from collections.abc import Mapping

import pytest

from loadstone.model.errors import UsageError
from loadstone.model.program_settings import read_settings
from loadstone.model.service import ServiceRole, Tuning
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.registry import get_service_kind, list_service_kinds, list_service_roles
from loadstone.services.settings import check_settings

NGINX_PHP = get_service_kind(ServiceRole.WEB, "nginx-php")


def program_of(kind: ServiceKind, tuning: Tuning, *texts: str) -> Program:
    """Returns a service's program with settings as a user writes them."""
    settings = check_settings([kind], tuning, read_settings(texts))
    peers = {ServiceRole.BACKEND: "http://10.0.0.2:8080", ServiceRole.DATABASE: "postgresql://a@10.0.0.3/b"}
    mechanism = {"mechanism": next(iter(kind.mechanisms))} if kind.mechanisms else {}
    return kind.program(
        Site(
            "/f",
            "10.0.0.1",
            80,
            2,
            tuning=tuning,
            tls_port=443,
            certificates="/c",
            peers=peers,
            settings=settings,
            **mechanism,
        )
    )


def text_of(program: Program) -> str:
    return "\n".join([*program.files.values(), *program.command])


CHANGES = [
    ("web", "nginx-php", "php.children=50", "pm.max_children = 50\n"),
    ("web", "nginx-php", "php.memory_mib=256", "php_admin_value[memory_limit] = 256M\n"),
    ("web", "nginx-php", "nginx.access_log=false", "access_log off;"),
    ("web", "nginx-php", "nginx.gzip=false", "gzip off;"),
    ("web", "apache-php", "apache.keep_alive_s=60", "KeepAliveTimeout 60\n"),
    ("web", "apache-php", "apache.event.max=300", "MaxRequestWorkers 300\n"),
    ("web", "apache-mod-php", "apache.prefork.max=400", "ServerLimit 400\n"),
    ("web", "apache-mod-php", "apache.prefork.max=400", "MaxRequestWorkers 400\n"),
    ("web", "tomcat-jsp", "tomcat.heap_mib=2048", "-Xmx2048m"),
    ("web", "tomcat-jsp", "tomcat.large_pages=true", "-XX:+UseLargePages"),
    ("web", "tomcat-jsp", "tomcat.optimizes=false", "-XX:TieredStopAtLevel=1"),
    ("webserver", "tomcat", "tomcat.threads=64", 'maxThreads="64"'),
    ("webserver", "embedded", "webserver.cache_bytes=1000", "--cache-bytes\n1000"),
    ("database", "postgresql", "postgresql.shared_buffers=1GB", "-c shared_buffers=1GB"),
    ("mail", "dovecot", "dovecot.mail_fsync=never", "mail_fsync = never\n"),
    ("mail", "dovecot", "dovecot.mailbox_format=maildir", "mail_location = maildir:/f/mail/%u\n"),
    ("mail", "dovecot", "dovecot.processes=500", "  process_limit = 500\n"),
    ("mail", "dovecot", "dovecot.login_processes=4", "  process_min_avail = 4\n"),
    ("mail", "dovecot", "dovecot.memory_mib=512", "default_vsz_limit = 512 M\n"),
    ("store", "nfs", "nfs.threads=32", "RPC_Ioq_ThrdMax = 32;"),
    ("store", "nfs", "nfs.cached_entries=5000", "Entries_HWMark = 5000;"),
    ("store", "nfs", "nfs.max_read_bytes=65536", "MaxRead = 65536;"),
    ("store", "nfs", "nfs.max_write_bytes=65536", "MaxWrite = 65536;"),
    ("database", "mariadb", "mariadb.innodb_buffer_pool_size=1G", "--innodb-buffer-pool-size=1G"),
]


@pytest.mark.parametrize(("role", "name", "setting", "line"), CHANGES)
def test_a_setting_reaches_the_configuration_of_its_program(role: str, name: str, setting: str, line: str) -> None:
    kind = get_service_kind(role, name)
    assert line in text_of(program_of(kind, Tuning.DEFAULT, setting))
    assert line not in text_of(program_of(kind, Tuning.DEFAULT))


def test_a_setting_changes_the_tuned_values_too() -> None:
    kind = get_service_kind("web", "apache-mod-php")
    tuned = text_of(program_of(kind, Tuning.TUNED, "apache.prefork.requests_each=1000"))
    assert "MaxConnectionsPerChild 1000\n" in tuned
    assert "StartServers 256\n" in tuned


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("php", "is not a valid setting. Use PROGRAM.SETTING=VALUE"),
        ("php.children", "is not a valid setting"),
        ("php.children=", "is not a valid setting"),
        ("php.childs=5", "has no `childs`. Did you mean `children`?"),
        ("php.children=0", "`children=0` is not valid for a `php` program. Expected: requests at once"),
        ("php.children=many", "`children=many` is not valid"),
        ("php.children=2", r"needs min_spare \(1\) <= start \(2\) <= max_spare \(3\) <= children \(2\)"),
        ("nginx.open_files=10", "`open_files` needs `open_files_s`"),
        ("tomcat.threads=5", "None of the chosen services runs `tomcat`"),
        ("ngin.gzip=false", "Did you mean `nginx`?"),
    ],
)
def test_a_setting_that_cannot_hold_is_refused_with_what_can(setting: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        check_settings([NGINX_PHP], Tuning.DEFAULT, read_settings([setting]))


def test_dovecot_keeps_no_more_login_processes_ready_than_it_may_have_processes() -> None:
    dovecot = get_service_kind("mail", "dovecot")
    with pytest.raises(UsageError, match=r"`login_processes` \(8\) must not exceed `processes` \(4\)"):
        check_settings([dovecot], Tuning.DEFAULT, read_settings(["dovecot.processes=4", "dovecot.login_processes=8"]))


def test_settings_that_hold_together_are_accepted_together() -> None:
    given = read_settings(["php.children=2", "php.max_spare=2", "php.start=1"])
    assert check_settings([NGINX_PHP], Tuning.DEFAULT, given) == {"php": {"children": 2, "max_spare": 2, "start": 1}}


def test_a_setting_is_given_once() -> None:
    with pytest.raises(UsageError, match=r"`php.children` is set twice"):
        read_settings(["php.children=5", "php.children=6"])


def test_a_service_without_settings_says_so() -> None:
    with pytest.raises(UsageError, match="none of the chosen services has settings"):
        check_settings([get_service_kind("idle", "embedded")], Tuning.DEFAULT, {"php": {"children": "5"}})


def every_setting() -> Mapping[str, ServiceKind]:
    kinds = [kind for role in list_service_roles() for kind in list_service_kinds(role).values()]
    return {f"{kind.role} {kind.name} {program}": kind for kind in kinds for program in kind.settings}


@pytest.mark.parametrize("name", every_setting())
def test_every_setting_has_a_description_and_every_tuning_a_value(name: str) -> None:
    kind = every_setting()[name]
    usual = kind.settings[name.split()[-1]]
    assert set(usual) == set(Tuning)
    for field_name, field in type(usual[Tuning.DEFAULT]).model_fields.items():
        assert field.description, field_name
