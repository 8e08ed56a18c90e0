"""Tokens that the laboratory is told in its environment; what it starts knows at most the one that it needs."""

import ipaddress
import os
import secrets
from functools import cache

from loadstone.model.errors import UsageError

AGENT_TOKEN = "LOADSTONE_AGENT_TOKEN"
"""Variable with the token that the agent of a host was started with."""
JOIN_TOKEN = "LOADSTONE_JOIN_TOKEN"
"""Variable with the token that drivers know which play together."""
CLUSTER_TOKEN = "RAY_AUTH_TOKEN"
"""Variable, by the engine's own name, with the token that lets into a fleet's cluster."""
PAGE_TOKEN = "LOADSTONE_TOKEN"
"""Variable with the token that readers of served pages and of live figures bring."""
SECRETS = (AGENT_TOKEN, JOIN_TOKEN, CLUSTER_TOKEN, PAGE_TOKEN)
LEAST_PAGE_TOKEN = 16
"""Letters of a token, as agents want it too."""


def join_token() -> str:
    """The token of drivers that join: the environment's, or one that this process made for itself."""
    return os.environ.get(JOIN_TOKEN) or _made_token()


def is_join_token_given() -> bool:
    """Whether those that join were told the token before."""
    return bool(os.environ.get(JOIN_TOKEN))


def check_token(token: str) -> str:
    """The token of a page. Raises UsageError, which does not name it, for one that can be guessed or not be sent."""
    if len(token) < LEAST_PAGE_TOKEN or not all("!" <= letter <= "~" for letter in token):
        remedy = "`openssl rand -hex 16` creates one"
        raise UsageError(
            f"The token is not valid. Use {LEAST_PAGE_TOKEN} or more letters in ASCII without spaces; {remedy}."
        )
    return token


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@cache
def _made_token() -> str:
    return secrets.token_urlsafe(24)
