"""What the laboratory is told in its environment and nothing that it starts may know."""

import os

AGENT_TOKEN = "LOADSTONE_AGENT_TOKEN"
"""Variable with the token that the agent of a host was started with."""


def without_secrets() -> dict[str, str]:
    """This process's environment, for what it starts."""
    return {name: value for name, value in os.environ.items() if name != AGENT_TOKEN}
