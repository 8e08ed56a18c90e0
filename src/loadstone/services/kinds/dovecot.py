"""Dovecot as an ordinary process: IMAP and LMTP, everyone has the same password, mailboxes below one folder."""

import shlex
from typing import Literal, Self

from pydantic import Field, model_validator

from loadstone.model.reading import Section
from loadstone.model.service import ServiceRole, Tuning
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.settings import resolve_settings
from loadstone.services.unprivileged import NOBODY, NOT_ROOT, build_shell_command

DOVECOT_CONFIGURATION = "dovecot.conf"
DELIVERY_PORT = 1124
"""Port for LMTP on a machine of its own."""
DOVECOT_CLIENTS = 4096
PASSWORD = "loadstone"
"""Everyone's; the workload's users give the same."""
DOVECOT_NAME = "dovecot"
"""Of its settings."""


class DovecotSettings(Section):
    """Settings of Dovecot."""

    processes: int = Field(
        default=DOVECOT_CLIENTS, ge=1, le=32_768, description="IMAP processes at once, at most; each user has one"
    )
    login_processes: int = Field(
        default=1, ge=1, le=1024, description="login processes that are kept ready, each for many connections"
    )
    mailbox_format: Literal["mdbox", "sdbox", "maildir"] = Field(
        default="mdbox", description="files of a mailbox: several messages a file (mdbox), or a file each"
    )
    mail_fsync: Literal["always", "optimized", "never"] = Field(
        default="always", description="when messages are written to the disk; `never` may lose the last ones in a crash"
    )
    memory_mib: int = Field(default=256, ge=16, le=65_536, description="most memory of a process, MiB")

    @model_validator(mode="after")
    def _processes_serve_logins(self) -> Self:
        if self.login_processes > self.processes:
            raise ValueError(
                f"`login_processes` ({self.login_processes}) must not exceed `processes` ({self.processes}); change "
                "them together"
            )
        return self


DOVECOT_SETTINGS = {tuning: DovecotSettings() for tuning in Tuning}
"""As distributed (doc.dovecot.org, Settings), but many processes, and messages that are on the disk once acknowledged.
"""


def build_program(site: Site) -> Program:
    """Returns the mail server Dovecot. The command that starts it makes its folders."""
    folders = shlex.join(["mkdir", "-p", f"{site.folder}/run", f"{site.folder}/mail"])
    server = shlex.join([*NOT_ROOT, "dovecot", "-F", "-c", f"{site.folder}/{DOVECOT_CONFIGURATION}"])
    version = build_shell_command("echo dovecot $(/usr/sbin/dovecot --version)")
    command = build_shell_command(f"{folders} && PATH=$PATH:/usr/sbin exec {server}")
    return Program(command, {DOVECOT_CONFIGURATION: render_configuration(site)}, version=version)


def render_configuration(site: Site) -> str:
    """Nothing outside the folder, no TLS, no user of the system."""
    settings = resolve_settings(site, DOVECOT_NAME, DOVECOT_SETTINGS)
    listeners = f"  inet_listener imap {{\n    port = {site.port}\n  }}\n  inet_listener imaps {{\n    port = 0\n  }}\n"
    return (
        f"base_dir = {site.folder}/run\nstate_dir = {site.folder}/run\nlog_path = /dev/stderr\n"
        f"protocols = imap lmtp\nlisten = {site.listen}\nssl = no\ndisable_plaintext_auth = no\n"
        "default_internal_user = nobody\ndefault_internal_group = nogroup\ndefault_login_user = nobody\n"
        f"mail_location = {settings.mailbox_format}:{site.folder}/mail/%u\nfirst_valid_uid = 1\n"
        f"mail_fsync = {settings.mail_fsync}\ndefault_vsz_limit = {settings.memory_mib} M\n"
        f"mail_max_userip_connections = {DOVECOT_CLIENTS}\ndefault_client_limit = {DOVECOT_CLIENTS}\n"
        f"passdb {{\n  driver = static\n  args = password={PASSWORD}\n}}\n"
        "userdb {\n  driver = static\n"
        f"  args = allow_all_users=yes uid={NOBODY} gid={NOBODY} home={site.folder}/mail/%u\n}}\n"
        # Mail for user1@loadstone.example goes to user1.
        "auth_username_format = %Ln\npostmaster_address = postmaster@loadstone.example\nhostname = loadstone.example\n"
        f"service lmtp {{\n  process_limit = {settings.processes}\n"
        f"  inet_listener lmtp {{\n    port = {site.delivery_port}\n  }}\n}}\n"
        "service anvil {\n  chroot =\n}\nservice stats {\n  chroot =\n}\n"
        f"service imap {{\n  process_limit = {settings.processes}\n}}\n"
        "service imap-login {\n  chroot =\n  service_count = 0\n"
        f"  process_min_avail = {settings.login_processes}\n{listeners}}}\n"
    )


KIND = ServiceKind(
    "dovecot",
    ServiceRole.MAIL,
    build_program,
    1143,
    settings={DOVECOT_NAME: DOVECOT_SETTINGS},
    needs={"/usr/lib/dovecot/imap": "dovecot-imapd", "/usr/lib/dovecot/lmtp": "dovecot-lmtpd"},
    delivery_port=DELIVERY_PORT,
)
