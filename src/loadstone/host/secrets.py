"""What the laboratory is told in its environment and nothing that it starts may know."""

import os
import secrets
from functools import cache

AGENT_TOKEN = "LOADSTONE_AGENT_TOKEN"
"""Variable with the token that the agent of a host was started with."""
JOIN_TOKEN = "LOADSTONE_JOIN_TOKEN"
"""Variable with the token that drivers know which play together."""
CLUSTER_TOKEN = "RAY_AUTH_TOKEN"
"""Variable, by the engine's own name, with the token that lets into a fleet's cluster."""
_ALL = (AGENT_TOKEN, JOIN_TOKEN, CLUSTER_TOKEN)


def join_token() -> str:
    """The token of drivers that join: the environment's, or one that this process made for itself."""
    return os.environ.get(JOIN_TOKEN) or _made_token()


def is_join_token_given() -> bool:
    """Whether those that join were told the token before."""
    return bool(os.environ.get(JOIN_TOKEN))


def without_secrets(but: str = "") -> dict[str, str]:
    """This process's environment, for what it starts; with the one secret that it is to know, if any."""
    kept = {name: value for name, value in os.environ.items() if name == but or name not in _ALL}
    return kept | {JOIN_TOKEN: join_token()} if but == JOIN_TOKEN else kept


@cache
def _made_token() -> str:
    return secrets.token_urlsafe(24)
