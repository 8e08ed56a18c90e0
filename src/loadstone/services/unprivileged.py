"""Programs that refuse to run as root run as nobody in a user namespace, where root's private folders are their own."""

NOBODY = 65534
"""User and group id of nobody, on every Linux."""
NOT_ROOT = ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}"]
"""Words before a command (unshare(1))."""


def build_shell_command(script: str) -> list[str]:
    """A command line for the machine's own shell."""
    return ["sh", "-c", script]
