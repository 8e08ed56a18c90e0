"""Dovecot as an ordinary process: IMAP alone, everyone has the same password, mailboxes below one folder."""

import shlex

from loadstone.model.service import ServiceRole
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.unprivileged import NOBODY, NOT_ROOT, build_shell_command

DOVECOT_CONFIGURATION = "dovecot.conf"
DOVECOT_CLIENTS = 4096
PASSWORD = "loadstone"
"""Everyone's; the workload's users give the same."""


def build_program(site: Site) -> Program:
    """Returns the mail server Dovecot. The command that starts it makes its folders."""
    folders = shlex.join(["mkdir", "-p", f"{site.folder}/run", f"{site.folder}/mail"])
    server = shlex.join([*NOT_ROOT, "dovecot", "-F", "-c", f"{site.folder}/{DOVECOT_CONFIGURATION}"])
    version = build_shell_command("echo dovecot $(/usr/sbin/dovecot --version)")
    command = build_shell_command(f"{folders} && PATH=$PATH:/usr/sbin exec {server}")
    return Program(command, {DOVECOT_CONFIGURATION: render_configuration(site)}, version=version)


def render_configuration(site: Site) -> str:
    """Nothing outside the folder, no TLS, no user of the system."""
    listeners = f"  inet_listener imap {{\n    port = {site.port}\n  }}\n  inet_listener imaps {{\n    port = 0\n  }}\n"
    return (
        f"base_dir = {site.folder}/run\nstate_dir = {site.folder}/run\nlog_path = /dev/stderr\n"
        f"protocols = imap\nlisten = {site.listen}\nssl = no\ndisable_plaintext_auth = no\n"
        "default_internal_user = nobody\ndefault_internal_group = nogroup\ndefault_login_user = nobody\n"
        f"mail_location = mdbox:{site.folder}/mail/%u\nfirst_valid_uid = 1\nmail_fsync = always\n"
        f"mail_max_userip_connections = {DOVECOT_CLIENTS}\ndefault_client_limit = {DOVECOT_CLIENTS}\n"
        f"passdb {{\n  driver = static\n  args = password={PASSWORD}\n}}\n"
        f"userdb {{\n  driver = static\n  args = uid={NOBODY} gid={NOBODY} home={site.folder}/mail/%u\n}}\n"
        "service anvil {\n  chroot =\n}\nservice stats {\n  chroot =\n}\n"
        f"service imap {{\n  process_limit = {DOVECOT_CLIENTS}\n}}\n"
        f"service imap-login {{\n  chroot =\n  service_count = 0\n  process_min_avail = 1\n{listeners}}}\n"
    )


KIND = ServiceKind("dovecot", ServiceRole.MAIL, build_program, 1143, needs={"/usr/lib/dovecot/imap": "dovecot-imapd"})
