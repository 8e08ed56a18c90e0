"""`suite`: a web server's sizing tests. What does each server give by each of its mechanisms, over TLS, as tuned, with
more cores? Pure.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated

from pydantic import Field

from loadstone.model.errors import UsageError
from loadstone.model.reading import Flag
from loadstone.model.service import Mechanism, ServiceRole, Tuning
from loadstone.services.registry import service_kind, service_kinds
from loadstone.study.kind import StudyContext, StudyKind, StudySection
from loadstone.study.kinds.suite.answer import SuiteAnswer, headline
from loadstone.study.kinds.suite.cells import FACTOR, Cell, best, is_settled, levels, repeats, result, throughput
from loadstone.study.kinds.suite.page import blocks
from loadstone.study.question import key_of
from loadstone.study.summary import RunRequest, RunSummary

CLIENTS = 50
"""Clients for each core: by Little's law those of seven of the published tables (docs/webserver.md)."""
OVER_TLS = (Mechanism.STATIC, Mechanism.MODULE, Mechanism.SERVLET, Mechanism.C_CGI, Mechanism.PERL_CGI)
"""Mechanisms that are also tested over TLS; the published tests did so with all of them but the servlet."""
Names = Annotated[tuple[str, ...], Field(min_length=1)]
Cores = Annotated[tuple[Annotated[int, Field(ge=1, le=4096)], ...], Field(min_length=1)]
Tunings = Annotated[tuple[Tuning, ...], Field(min_length=1)]


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


class SuiteSection(StudySection):
    """`[suite]`: servers, their tunings, numbers of cores."""

    server: Annotated[Names, Flag("Servers, with commas between.", metavar="NAME,NAME", read=_words)] = Field(
        default=("nginx", "apache", "tomcat"), description='a list as ["nginx", "apache"]'
    )
    cores: Annotated[Cores, Flag("Cores that a server may use, one number or several.", metavar="N,N", read=_words)] = (
        Field(default=(1,), description="a list of whole numbers as [1, 2]")
    )
    tuning: Annotated[Tunings, Flag("Settings of each server.", metavar="default,tuned", read=_words)] = Field(
        default=(Tuning.DEFAULT, Tuning.TUNED), description='a list as ["default", "tuned"]'
    )
    clients: Annotated[
        int, Field(ge=1, le=10_000), Flag("Clients a core to begin with.", kind=int, min=1, max=10_000)
    ] = Field(default=CLIENTS, description="clients a core to begin with, 1 or more")
    doublings: Annotated[
        int,
        Field(ge=0, le=10),
        Flag("How often clients are doubled at most, until a server is full.", kind=int, min=0, max=10),
    ] = Field(default=4, description="0 to 10")
    rounds: Annotated[
        int,
        Field(ge=0, le=100),
        Flag("Further runs of each cell at the clients that gave most.", kind=int, min=0, max=100),
    ] = Field(default=0, description="0 or more; with runs enough tunings are tested for a difference")
    open_pct: Annotated[
        Annotated[float, Field(ge=1, le=99)] | None,
        Flag("Also arrivals, at so many % of the throughput found.", name="--open", kind=float, min=1, max=99),
    ] = Field(default=None, description="1 to 99; left out, there are none")

    @property
    def brings_load(self) -> bool:
        """It raises its clients by itself."""
        return True


@dataclass(frozen=True)
class Suite:
    """Every cell in turn, until it is settled; then again, to and fro, until each has its runs; then the arrivals."""

    workload: str
    cells: tuple[Cell, ...]
    clients: int
    doublings: int
    rounds: int
    open_pct: float | None
    operations: float
    """Of a user's visit."""

    def requests(self) -> list[RunRequest]:
        """The first of each cell."""
        return [self._closed(cell, at, self.clients * cell.cores, 0) for at, cell in enumerate(self.cells, start=1)]

    def _closed(self, cell: Cell, number: int, clients: int, turn: int) -> RunRequest:
        key = key_of(number, self.workload, f"{cell.words}-{clients}")
        return RunRequest(key, self.workload, cell.settings(clients), turn)

    def next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
        """The next run that is missing."""
        return next(self._wanted(runs), None)

    def _wanted(self, runs: Sequence[RunSummary]) -> Iterator[RunRequest]:
        """What is still to be made, as far as the runs say."""
        number = len(runs) + 1
        for cell in self.cells:
            clients = self._more(cell, runs)
            if clients:
                yield self._closed(cell, number, clients, 0)
        for turn in range(1, self.rounds + 1):
            for cell in self.cells if turn % 2 else reversed(self.cells):
                own = cell.own(runs)
                most = best(levels(own))
                if most and len(repeats(own, most)) < turn:
                    yield self._closed(cell, number, most, turn)
        yield from self._arrivals(runs, number)

    def _more(self, cell: Cell, runs: Sequence[RunSummary]) -> int:
        """Clients of the next step; 0 where it is of no use."""
        by = levels(cell.own(runs))
        if not by:
            return self.clients * cell.cores
        if len(by) > self.doublings or is_settled(by, cell):
            return 0
        return FACTOR * max(by)

    def _arrivals(self, runs: Sequence[RunSummary], number: int) -> Iterator[RunRequest]:
        for cell in self.cells if self.open_pct else ():
            own = cell.own(runs)
            by = levels(own)
            clients = best(by)
            is_there = any("rate" in run.request.settings for run in own)
            if not clients or is_there or not throughput(by[clients]):
                continue
            rate = (self.open_pct or 0) / 100 * throughput(by[clients]) / self.operations
            settings = {name: value for name, value in cell.settings(0).items() if name != "sessions"}
            key = key_of(number, self.workload, f"{cell.words}-open")
            yield RunRequest(key, self.workload, {**settings, "rate": f"{rate:.6g}"}, 0)

    def left(self, runs: Sequence[RunSummary]) -> int:
        """About how many runs are missing."""
        return sum(1 for _ in self._wanted(runs))

    def answer(self, runs: Sequence[RunSummary]) -> SuiteAnswer:
        """What every cell came to so far."""
        cells = tuple(found for cell in self.cells if (found := result(cell, runs)) is not None)
        return SuiteAnswer(
            workload=self.workload,
            is_answered=self.next(runs) is None,
            cells=cells,
            wanted=len(self.cells),
            headline=tuple(headline(cells, len(self.cells))),
        )


def make(section: SuiteSection, context: StudyContext) -> Suite:
    """The cells of one workload, for the servers that can answer it. Raises UsageError."""
    wanted = context.workload.header.mechanisms
    operations = context.workload.mix.operations_per_session
    if not wanted or not operations:
        known = ", ".join(service_kinds(ServiceRole.WEBSERVER))
        raise UsageError(
            f"`{context.workload.name}` is no test of a web server. Name `webserver`, which is static-files, printenv "
            f"and phpinfo; servers are {known}."
        )
    cells = [
        Cell(service, mechanism, tls, tuning, cores)
        for service in section.server
        for mechanism in wanted
        if mechanism in service_kind(ServiceRole.WEBSERVER, service).mechanisms
        for tls in ((False, True) if mechanism in OVER_TLS else (False,))
        for cores, tuning in product(section.cores, section.tuning)
        if tuning in service_kind(ServiceRole.WEBSERVER, service).tunings(mechanism)
    ]
    return Suite(
        context.workload.name,
        tuple(cells),
        section.clients,
        section.doublings,
        section.rounds,
        section.open_pct,
        float(operations),
    )


KIND = StudyKind(
    name="suite",
    question="What does each server give by each of its mechanisms?",
    help="""Web servers' sizing tests: files, modules, CGI, PHP, servlets, over TLS too, as tuned, by cores.

    [bold]loadstone suite webserver[/] tries nginx, Apache and Tomcat on one core; clients without think time are
    doubled until a server is full. [bold]--profile brief --doublings 0[/] is its quick form.
    """,
    section=SuiteSection,
    answer=SuiteAnswer,
    make=make,
    blocks=blocks,
    instead_of_load="It says how many clients there are with --clients and --doublings.",
    learns_from_invalid=True,
    decides={"service": "--server", "mechanism": "the workload's name"},
    rank=7,
)
