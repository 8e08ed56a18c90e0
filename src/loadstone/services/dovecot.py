"""Dovecot as an ordinary process: IMAP alone, everyone has the same password, mailboxes below one folder."""

import shlex
from dataclasses import dataclass

from loadstone.services.unprivileged import NOBODY, NOT_ROOT, shell

PORT = 1143
"""Where it listens on a machine of its own."""
CONFIGURATION = "dovecot.conf"
CLIENTS = 4096


@dataclass(frozen=True)
class Dovecot:
    """How one server runs; all its files are below `folder`."""

    folder: str
    listen: str
    port: int
    password: str = "loadstone"

    @property
    def command(self) -> list[str]:
        """How it is started, in the foreground."""
        made = shlex.join(["mkdir", "-p", f"{self.folder}/run", f"{self.folder}/mail"])
        words = shlex.join([*NOT_ROOT, "dovecot", "-F", "-c", f"{self.folder}/{CONFIGURATION}"])
        return shell(f"{made} && PATH=$PATH:/usr/sbin exec {words}")

    def text(self) -> str:
        """The configuration: nothing outside the folder, no TLS, no user of the system."""
        listeners = (
            f"  inet_listener imap {{\n    port = {self.port}\n  }}\n  inet_listener imaps {{\n    port = 0\n  }}\n"
        )
        return (
            f"base_dir = {self.folder}/run\nstate_dir = {self.folder}/run\nlog_path = /dev/stderr\n"
            f"protocols = imap\nlisten = {self.listen}\nssl = no\ndisable_plaintext_auth = no\n"
            "default_internal_user = nobody\ndefault_internal_group = nogroup\ndefault_login_user = nobody\n"
            f"mail_location = mdbox:{self.folder}/mail/%u\nfirst_valid_uid = 1\nmail_fsync = always\n"
            f"mail_max_userip_connections = {CLIENTS}\ndefault_client_limit = {CLIENTS}\n"
            f"passdb {{\n  driver = static\n  args = password={self.password}\n}}\n"
            f"userdb {{\n  driver = static\n  args = uid={NOBODY} gid={NOBODY} home={self.folder}/mail/%u\n}}\n"
            "service anvil {\n  chroot =\n}\nservice stats {\n  chroot =\n}\n"
            f"service imap {{\n  process_limit = {CLIENTS}\n}}\n"
            f"service imap-login {{\n  chroot =\n  service_count = 0\n  process_min_avail = 1\n{listeners}}}\n"
        )
