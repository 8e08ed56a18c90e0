"""`suite`: every cell in turn until it is settled, then again for its runs, then arrivals. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from loadstone.model.errors import UsageError
from loadstone.model.service import Mechanism, ServiceRole
from loadstone.services.registry import get_service_kind, list_service_kinds
from loadstone.study.kind import StudyContext
from loadstone.study.kinds.suite.answer import SuiteAnswer, summarize_cells
from loadstone.study.kinds.suite.cells import (
    FACTOR,
    SuiteCell,
    choose_best,
    compute_throughput,
    conclude_cell,
    group_by_clients,
    is_settled,
    select_repeats,
)
from loadstone.study.kinds.suite.section import SuiteSection
from loadstone.study.question import format_key
from loadstone.study.summary import RunRequest, RunSummary

OVER_TLS = (Mechanism.STATIC, Mechanism.MODULE, Mechanism.SERVLET, Mechanism.C_CGI, Mechanism.PERL_CGI)
"""Mechanisms that are also tested over TLS; the published tests did so with all of them but the servlet."""


@dataclass(frozen=True)
class Suite:
    """Every cell in turn, until it is settled; then again, to and fro, until each has its runs; then the arrivals."""

    workload: str
    cells: tuple[SuiteCell, ...]
    clients: int
    doublings: int
    rounds: int
    open_pct: float | None
    operations: float
    """Of a user's visit."""

    def plan_runs(self) -> list[RunRequest]:
        """The first of each cell."""
        return [
            self._closed(cell, index, self.clients * cell.cores, 0) for index, cell in enumerate(self.cells, start=1)
        ]

    def _closed(self, cell: SuiteCell, number: int, clients: int, turn: int) -> RunRequest:
        key = format_key(number, self.workload, f"{cell.title}-{clients}")
        return RunRequest(key, self.workload, cell.build_settings(clients), turn)

    def plan_next(self, runs: Sequence[RunSummary]) -> RunRequest | None:
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
                cell_runs = cell.select_runs(runs)
                most = choose_best(group_by_clients(cell_runs))
                if most and len(select_repeats(cell_runs, most)) < turn:
                    yield self._closed(cell, number, most, turn)
        yield from self._arrivals(runs, number)

    def _more(self, cell: SuiteCell, runs: Sequence[RunSummary]) -> int:
        """Clients of the next step; 0 where it is of no use."""
        by_clients = group_by_clients(cell.select_runs(runs))
        if not by_clients:
            return self.clients * cell.cores
        if len(by_clients) > self.doublings or is_settled(by_clients, cell):
            return 0
        return FACTOR * max(by_clients)

    def _arrivals(self, runs: Sequence[RunSummary], number: int) -> Iterator[RunRequest]:
        for cell in self.cells if self.open_pct else ():
            cell_runs = cell.select_runs(runs)
            by_clients = group_by_clients(cell_runs)
            clients = choose_best(by_clients)
            is_there = any("rate" in run.request.settings for run in cell_runs)
            if not clients or is_there or not compute_throughput(by_clients[clients]):
                continue
            rate = (self.open_pct or 0) / 100 * compute_throughput(by_clients[clients]) / self.operations
            settings = {name: value for name, value in cell.build_settings(0).items() if name != "sessions"}
            key = format_key(number, self.workload, f"{cell.title}-open")
            yield RunRequest(key, self.workload, {**settings, "rate": float(f"{rate:.6g}")}, 0)

    def estimate_left(self, runs: Sequence[RunSummary]) -> int:
        """About how many runs are missing."""
        return sum(1 for _ in self._wanted(runs))

    def answer(self, runs: Sequence[RunSummary]) -> SuiteAnswer:
        """Returns the results of all cells so far."""
        cells = tuple(cell_result for cell in self.cells if (cell_result := conclude_cell(cell, runs)) is not None)
        return SuiteAnswer(
            workload=self.workload,
            is_answered=self.plan_next(runs) is None,
            cells=cells,
            wanted=len(self.cells),
            headline=tuple(summarize_cells(cells, len(self.cells))),
        )


def make(section: SuiteSection, context: StudyContext) -> Suite:
    """The cells of one workload, for the servers that can answer it. Raises UsageError."""
    wanted = context.workload.header.mechanisms
    operations = context.workload.mix.operations_per_session
    if not wanted or not operations:
        known = ", ".join(list_service_kinds(ServiceRole.WEBSERVER))
        raise UsageError(
            f"`{context.workload.name}` is not a web server test. Use `webserver`, which runs static-files, printenv "
            f"and phpinfo; servers are {known}."
        )
    cells = [
        SuiteCell(service, mechanism, tls, tuning, cores)
        for service in section.server
        for mechanism in wanted
        if mechanism in get_service_kind(ServiceRole.WEBSERVER, service).mechanisms
        for tls in ((False, True) if mechanism in OVER_TLS else (False,))
        for cores, tuning in product(section.cores, section.tuning)
        if tuning in get_service_kind(ServiceRole.WEBSERVER, service).list_tunings(mechanism)
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
