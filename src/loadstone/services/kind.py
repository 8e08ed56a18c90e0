"""A program that takes a role of a system where there is a choice, declared in one module below `kinds/`. Pure: it
knows no platform; the testbed puts it on its machine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

from loadstone.model.reading import Section
from loadstone.model.service import EMBEDDED, Mechanism, Tuning
from loadstone.model.target import Endpoint
from loadstone.services.status import StatusSource

SITE = "site"
"""Folder of a machine's files that a web server serves."""


def get_local_address(listen: str) -> str:
    """Returns the address at which a machine itself reaches what listens there."""
    return "127.0.0.1" if listen == "0.0.0.0" else listen


@dataclass(frozen=True)
class Site:
    """Where a service runs and what it is configured with. The testbed fills in what the service's role needs."""

    folder: str
    """Folder of the machine for all files of the service; it need not exist."""
    listen: str
    """Address to listen on."""
    port: int = 0
    """0 for a service that takes a free port and reports it."""
    threads: int = 1
    _: KW_ONLY
    tuning: Tuning = Tuning.DEFAULT
    tls_port: int = 0
    """0 for a service without TLS."""
    delivery_port: int = 0
    """0 for a service that accepts no mail."""
    certificates: str = ""
    """Folder with `server.pem` and `server-key.pem`; empty for a service that needs none."""
    names: tuple[str, ...] = ("localhost",)
    """Names and addresses that its certificate is for."""
    mechanism: Mechanism = Mechanism.STATIC
    """How a web server generates responses."""
    file_sets: Mapping[str, int] = field(default_factory=dict)
    """Sessions that file sets are written for, by name."""
    kept_files: str = ""
    """Folder that has those files already, to be read only; empty where the service writes them into its own folder."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Rows that an empty database is filled with, by table."""
    injection_rate: int = 1
    """Injection rate that the dealership's database is filled for."""
    peers: Mapping[str, str] = field(default_factory=dict)
    """Addresses of the services that it asks, by role, as `ServiceKind.url` writes them."""
    shared_folder: str = ""
    """Folder that all servers of the role share for files; empty where there is none."""
    servers: tuple[Endpoint, ...] = ()
    """Web servers behind a load balancer, over HTTP."""
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """What the user changed, by program and setting; checked against `ServiceKind.settings`."""

    @property
    def document_root(self) -> str:
        """Folder with the files that a web server serves."""
        return self.kept_files or f"{self.folder}/{SITE}"


@dataclass(frozen=True)
class Program:
    """What has to be done for a service, in this order."""

    command: list[str]
    """Starts it, in the foreground."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Written first, by their names below its folder."""
    prepare: Sequence[list[str]] = ()
    """Run before it, one after the other, and end with 0."""
    helpers: Mapping[str, list[str]] = field(default_factory=dict)
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
    role: str
    program: Callable[[Site], Program]
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
    reads_files: bool = False
    """Of web servers: whether it reads file sets from disk."""
    shares_folder: bool = False
    """Of stores: whether fronts mount a folder of its machine instead of asking it over HTTP."""
    has_tls: bool = False
    """Whether it listens for TLS too."""
    delivery_port: int | None = None
    """Of mail servers: where it accepts mail by LMTP on a machine of its own."""
    memory_mib: int = 0
    """Least memory of a machine of its own."""
    mechanisms: Mapping[Mechanism, Mapping[str, str]] = field(default_factory=dict)
    """Of web servers, each with what it needs beside that."""
    settings: Mapping[str, Mapping[Tuning, Section]] = field(default_factory=dict)
    """What users may change, by program, with the values of each tuning."""
    is_tuned: bool = False
    """Whether it has tuned settings beside the default ones."""
    untuned: frozenset[Mechanism] = frozenset()
    """Mechanisms that no tuned setting touches."""

    @property
    def title(self) -> str:
        """Its name; its role where it is the only service of the role."""
        return self.role if self.name == EMBEDDED else self.name

    def list_tunings(self, mechanism: Mechanism | None = None) -> tuple[Tuning, ...]:
        """Settings that differ."""
        return tuple(Tuning) if self.is_tuned and mechanism not in self.untuned else (Tuning.DEFAULT,)

    def list_packages(self, mechanism: Mechanism | None = None) -> Mapping[str, str]:
        """Debian's packages by a file of theirs."""
        return {**self.needs, **(self.mechanisms[mechanism] if mechanism else {})}
