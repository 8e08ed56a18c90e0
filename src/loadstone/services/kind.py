"""A program that takes a role of a system where there is a choice, declared in one module below `kinds/`. Pure: it
knows no platform; the testbed puts it on its machine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from loadstone.model.service import Mechanism, ServiceRole, Tuning
from loadstone.model.target import Endpoint
from loadstone.services.status import StatusSource


def local(listen: str) -> str:
    """Where a machine itself reaches what listens there."""
    return "127.0.0.1" if listen == "0.0.0.0" else listen


@dataclass(frozen=True)
class ServiceSite:
    """Where a service is to run."""

    folder: str
    """All its files are below it; it need not exist."""
    listen: str
    port: int
    threads: int
    tuning: Tuning = Tuning.DEFAULT


@dataclass(frozen=True, kw_only=True)
class TlsSite(ServiceSite):
    """Where a service that also speaks TLS is to run."""

    tls_port: int
    certificates: str
    """Folder with `server.pem` and `server-key.pem`."""


@dataclass(frozen=True, kw_only=True)
class MechanismSite(TlsSite):
    """Where a web server is to answer by one mechanism."""

    mechanism: Mechanism
    directories: int
    """Of the files that it serves."""


@dataclass(frozen=True, kw_only=True)
class WebSite(TlsSite):
    """Where web sites are to run."""

    backend: Endpoint
    """Of the back-end simulator."""
    file_sets: Mapping[str, int] = field(default_factory=dict)
    """Sessions whose files are wanted, by workload."""


@dataclass(frozen=True, kw_only=True)
class ApplicationSite(TlsSite):
    """Where an application over a database is to run."""

    database: str
    """Where that is, as its service says it."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """What an empty one is filled with, by table."""
    beside: Mapping[str, Endpoint] = field(default_factory=dict)
    """What else it asks, by what that is: `store`, `geocoder`."""
    pictures: str = ""
    """Folder that all its servers share for pictures; empty where a store, or each of them, keeps them."""
    cache: str = ""
    """Where it keeps answers: `within`, or where a cache is, as its service says it; empty where it keeps none."""


@dataclass(frozen=True, kw_only=True)
class BalancerSite(TlsSite):
    """Where users are to be dealt from."""

    servers: tuple[Endpoint, ...]
    """Web servers, over HTTP."""


@dataclass(frozen=True)
class Program:
    """What has to be done for a service, in this order."""

    command: list[str]
    """Starts it, in the foreground."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Written first, by their names below its folder."""
    prepare: Sequence[list[str]] = ()
    """Run before it, one after the other, and end with 0."""
    beside: Mapping[str, list[str]] = field(default_factory=dict)
    """Programs that it needs, by what they are: started before it, in the foreground."""
    wait: list[str] = field(default_factory=list)
    """Runs beside it and ends with 0 when it answers; empty for what speaks first, or says itself where it answers."""
    first_words: bytes = b""
    """To which it answers; empty for what answers HTTP."""
    status: Mapping[str, StatusSource] = field(default_factory=dict)
    """What its parts say of themselves, at its own port."""
    version: list[str] = field(default_factory=list)
    """Prints what is used, a program and its version a line."""


@dataclass(frozen=True)
class ServiceKind:
    """One program for one role."""

    name: str
    role: ServiceRole
    program: Callable[[Any], Program]
    """Of a `ServiceSite`; of a `WebSite` where it gives web sites."""
    port: int | None = None
    """Where it listens on a machine of its own; None for what takes a free port and says which in its first line."""
    url: Callable[[Endpoint], str] = str
    """Of databases and caches: what the application is told."""
    data: str = ""
    """Of databases: the file or folder below its own that has all its data."""
    counts: bool = False
    """Of databases: whether it counts what it does, and says so to who asks."""
    needs: Mapping[str, str] = field(default_factory=dict)
    """Debian's packages by a file of theirs, which may be a pattern."""
    memory_mib: int = 0
    """Least memory of a machine of its own."""
    mechanisms: Mapping[Mechanism, Mapping[str, str]] = field(default_factory=dict)
    """Of web servers, each with what it needs beside that."""
    is_tuned: bool = False
    """Whether it has tuned settings beside the default ones."""
    untuned: frozenset[Mechanism] = frozenset()
    """Mechanisms that no tuned setting touches."""

    def tunings(self, mechanism: Mechanism | None = None) -> tuple[Tuning, ...]:
        """Settings that differ."""
        return tuple(Tuning) if self.is_tuned and mechanism not in self.untuned else (Tuning.DEFAULT,)

    def needed(self, mechanism: Mechanism | None = None) -> Mapping[str, str]:
        """Debian's packages by a file of theirs."""
        return {**self.needs, **(self.mechanisms[mechanism] if mechanism else {})}
