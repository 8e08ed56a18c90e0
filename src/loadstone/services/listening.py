"""Waiting for a server that answers nothing until a client of its own protocol comes."""

from loadstone.services.unprivileged import build_shell_command

LISTENING_TRIES = 300
"""Looks, a tenth of a second apart."""


def wait_until_listening(port: int) -> list[str]:
    """Returns a command that ends with 0 once a port of its machine listens, and with 1 after 30 s."""
    entry = f":{port:04X} 0*:0000 0A"
    looked = f"grep -qs '{entry}' /proc/net/tcp /proc/net/tcp6"
    return build_shell_command(
        f"n=0; until {looked}; do n=$((n+1)); [ $n -lt {LISTENING_TRIES} ] || exit 1; sleep 0.1; done"
    )
