"""Waiting, in a machine, for a server that says nothing when it is ready."""

from loadstone.services.unprivileged import build_shell_command

LISTENING_TRIES = 12_000
"""Looks, a tenth of a second apart. A server may take 20 minutes to start in an emulated machine. The testbed ends a
wait earlier where the server has ended, or its machine is faster.
"""


def render_wait(condition: str, before_failure: str = "") -> str:
    """Returns the words of a shell that wait until a condition holds. They run the given words and exit with 1 once it
    has not held for 20 minutes.
    """
    failure = f"{before_failure}; exit 1" if before_failure else "exit 1"
    return f"n=0; until {condition}; do n=$((n+1)); [ $n -lt {LISTENING_TRIES} ] || {{ {failure}; }}; sleep 0.1; done"


def wait_until_listening(port: int) -> list[str]:
    """Returns a command that ends with 0 once a port of its machine listens, and with 1 after 20 minutes."""
    entry = f":{port:04X} 0*:0000 0A"
    return build_shell_command(render_wait(f"grep -qs '{entry}' /proc/net/tcp /proc/net/tcp6"))
