"""Which program serves a role where there is a choice."""

from enum import StrEnum


class DatabaseKind(StrEnum):
    """What keeps the application's data."""

    EMBEDDED = "embedded"
    """SQLite behind the reference server's database role."""
    POSTGRESQL = "postgresql"


class MailKind(StrEnum):
    """What keeps the mail."""

    EMBEDDED = "embedded"
    """The reference server's mail role."""
    DOVECOT = "dovecot"
