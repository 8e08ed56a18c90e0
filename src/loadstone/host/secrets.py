"""What the laboratory is told in its environment and nothing that it starts may know."""

import os
import secrets

AGENT_TOKEN = "LOADSTONE_AGENT_TOKEN"
"""Variable with the token that the agent of a host was started with."""
JOIN_TOKEN = "LOADSTONE_JOIN_TOKEN"
"""Variable with the token that drivers know which play together."""
CLUSTER_TOKEN = "RAY_AUTH_TOKEN"
"""Variable, by the engine's own name, with the token that lets into a fleet's cluster."""
_ALL = (AGENT_TOKEN, JOIN_TOKEN, CLUSTER_TOKEN)


def without_secrets(but: str = "") -> dict[str, str]:
    """This process's environment, for what it starts; with the one secret that it is to know, if any."""
    return {name: value for name, value in os.environ.items() if name == but or name not in _ALL}


def join_token() -> str | None:
    """A new token for drivers that join, from now on in this process's environment; None where one was there."""
    if os.environ.get(JOIN_TOKEN):
        return None
    os.environ[JOIN_TOKEN] = secrets.token_urlsafe(24)
    return os.environ[JOIN_TOKEN]
