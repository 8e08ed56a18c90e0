"""Which environment variables set options of commands."""

ENVIRONMENT = "LOADSTONE"
"""First part of their names: LOADSTONE_RUN_SESSIONS sets `--sessions` of `run`."""
