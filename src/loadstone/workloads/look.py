"""A workload of some addresses and nothing else, for a look at a site that nobody has declared yet. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

import tomlkit

from loadstone.model.errors import UsageError
from loadstone.model.target import encode_path, without_credentials
from loadstone.workloads.importers.har import find_site
from loadstone.workloads.writing import build_table, escape_braces, name_of

SCHEMES = ("http", "https")
GOOD_S, TOLERABLE_S = 1.0, 3.0
"""Limits of a look: a guess, which the report calls declared."""
CODINGS_ACCEPTED = "gzip, deflate, br, zstd"
"""As browsers ask for."""


@dataclass(frozen=True)
class SitePreview:
    """A workload's text, and the site that it is for."""

    name: str
    text: str
    target: str


def is_address(text: str) -> bool:
    """Whether a word is the address of a page rather than the name of a workload."""
    return text.partition("://")[0].lower() in SCHEMES


def look_at(addresses: Sequence[str]) -> SitePreview:
    """The workload whose users each open one of these pages, all equally often. Raises UsageError for addresses that
    are none, or of several sites.
    """
    parts = [_parts(address) for address in addresses]
    named = (f"{part.scheme}://{part.netloc.lower()}" for part in parts)
    sites = dict.fromkeys(find_site(name) or name for name in named)
    if len(sites) > 1:
        raise UsageError(f"The addresses belong to several sites: {', '.join(sites)}. Run one site after another.")
    operations: dict[str, str] = {}
    for part in parts:
        path = (part.path or "/") + (f"?{part.query}" if part.query else "")
        operations.setdefault(_free(name_of(part.path, "home", "page"), operations), path)
    name = name_of(parts[0].hostname or "", "site", "site").lower().replace("_", "-")
    return SitePreview(name, _text(name, operations), next(iter(sites)))


def _parts(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        is_whole = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_whole = False
    if is_whole and parts.username is not None:
        remedy = "Remove them; a workload can declare `Authorization` under [headers]"
        raise UsageError(
            f"`{without_credentials(address)}` is not a valid page address: it contains credentials. {remedy}."
        )
    if not is_whole:
        raise UsageError(f"`{address}` is not a valid page address. Use http://HOST:PORT/PATH.")
    return parts


def _free(name: str, taken: dict[str, str]) -> str:
    names = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _text(name: str, operations: dict[str, str]) -> str:
    document = tomlkit.document()
    title = f"A look at {name}"
    about = "Users open one page each, without a pause; limits are a guess."
    document["workload"] = build_table({"name": name, "title": title, "about": about})
    document["pacing"] = build_table({"kind": "think", "mean_s": 0})
    document["connections"] = build_table({"kept_between_users": True})
    document["headers"] = build_table({"Accept-Encoding": CODINGS_ACCEPTED})
    document["limits"] = build_table({"good_s": GOOD_S, "tolerable_s": TOLERABLE_S})
    shares = dict.fromkeys(operations, 1)
    document["mix"] = build_table({"kind": "flat", "shares": shares, "operations_per_session": 1})
    for operation, path in operations.items():
        document.setdefault("operations", tomlkit.table(is_super_table=True))
        document["operations"][operation] = build_table({"path": escape_braces(encode_path(path))})
    return tomlkit.dumps(document)
