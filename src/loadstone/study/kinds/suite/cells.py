"""The cells of a suite: what is run in each, and when it is known what it holds. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from loadstone.model.service import Mechanism, Tuning
from loadstone.study.bottleneck import describe_common
from loadstone.study.parameters import SettingValue
from loadstone.study.summary import RunSummary

FULL_CPU_SHARE = 0.95
"""Share of its cores from which a server is full (the published tests saturated theirs)."""
FLAT = 1.03
"""Factor of throughput below which twice the clients brought nothing."""
CGI_MECHANISMS = (Mechanism.C_CGI, Mechanism.PERL_CGI)
"""Mechanisms by programs that end with each answer."""
FACTOR = 2
"""Clients of one step by those of the step before."""


@dataclass(frozen=True)
class SuiteCell:
    """One test of one server."""

    service: str
    mechanism: Mechanism
    tls: bool
    tuning: Tuning
    cores: int

    def build_settings(self, sessions: int) -> dict[str, SettingValue]:
        """Returns the settings of a run with so many clients."""
        return {
            "service": self.service,
            "mechanism": self.mechanism,
            "tls": self.tls,
            "tuning": self.tuning,
            "server.cores": self.cores,
            "sessions": sessions,
        }

    @property
    def test(self) -> str:
        """What is tested, in words."""
        return f"{self.mechanism} over TLS" if self.tls else str(self.mechanism)

    @property
    def title(self) -> str:
        """For the name of a folder."""
        return f"{self.service}-{self.mechanism}{'-tls' * self.tls}-{self.tuning}-{self.cores}"

    def select_runs(self, runs: Sequence[RunSummary]) -> list[RunSummary]:
        """Selects the cell's runs among all runs."""
        mine = self.build_settings(0)
        names = [name for name in mine if name != "sessions"]
        return [run for run in runs if all(run.request.settings.get(name) == mine[name] for name in names)]


@dataclass(frozen=True)
class CellResult:
    """What a cell came to, at the clients that gave most."""

    cell: SuiteCell
    runs: int
    clients: int
    throughput: tuple[float, ...]
    """Operations/s of each run with that many clients."""
    response_s: float | None
    cpu_share: float | None
    """Of its cores."""
    is_full: bool
    """Whether the server used its cores, or more clients brought nothing."""
    is_driver_bound: bool
    doubts: tuple[str, ...]
    """Why runs of it are not fit to say anything, or which share was in error."""
    bottleneck: str
    open_response_s: float | None = None
    """Mean response time where users came by themselves, at the declared share of that throughput."""

    @property
    def mean(self) -> float | None:
        """Mean throughput."""
        return fmean(self.throughput) if self.throughput else None

    @property
    def waiting(self) -> float | None:
        """Throughput times response time: clients that waited at once, by Little's law all that there were."""
        return self.mean * self.response_s if self.mean is not None and self.response_s is not None else None

    @property
    def is_sound(self) -> bool:
        """Whether its throughput is the server's."""
        return bool(self.throughput) and not self.is_driver_bound and not self.doubts


def group_by_clients(runs: Sequence[RunSummary]) -> dict[int, list[RunSummary]]:
    """A cell's closed runs by which it was searched, by their clients, in order."""
    by_clients: dict[int, list[RunSummary]] = {}
    for run in sorted((run for run in _closed(runs) if not run.request.seed), key=lambda run: run.request.load):
        by_clients.setdefault(int(run.request.load), []).append(run)
    return by_clients


def select_repeats(runs: Sequence[RunSummary], clients: int) -> list[RunSummary]:
    """The runs made anew with that many clients: the one for which they were chosen is likely to be a lucky one."""
    return [run for run in _closed(runs) if run.request.seed and int(run.request.load) == clients]


def _closed(runs: Sequence[RunSummary]) -> Iterator[RunSummary]:
    return (run for run in runs if "rate" not in run.request.settings)


def compute_cpu_share(run: RunSummary, cell: SuiteCell) -> float | None:
    """CPU of the system by its cores; None where it is not known, as of programs that end and are not counted."""
    used = run.metrics.get("server_cpu")
    is_missed = cell.mechanism in CGI_MECHANISMS and run.misses_ended
    return None if used is None or is_missed else used / cell.cores


def compute_throughput(runs: Sequence[RunSummary]) -> float:
    """The mean; 0 where nothing was answered."""
    return fmean([run.metrics.get("throughput", 0.0) for run in runs]) if runs else 0.0


def is_settled(by_clients: dict[int, list[RunSummary]], cell: SuiteCell) -> bool:
    """Whether more clients are of no use: the cores are used, twice as many brought nothing, or something is wrong."""
    ordered = list(by_clients.values())
    if not ordered:
        return False
    if _is_broken(ordered[-1]) or _is_flat(ordered):
        return True
    share = compute_cpu_share(ordered[-1][0], cell)
    return len(ordered) > 1 and share is not None and share >= FULL_CPU_SHARE


def _is_broken(runs: Sequence[RunSummary]) -> bool:
    """Whether the driver was the limit, or something was wrong with answers."""
    return any(run.is_driver_bound or run.metrics.get("errors") for run in runs)


def _is_flat(ordered: Sequence[Sequence[RunSummary]]) -> bool:
    """Whether the last step brought nothing."""
    return len(ordered) > 1 and compute_throughput(ordered[-1]) < FLAT * compute_throughput(ordered[-2])


def choose_best(by_clients: dict[int, list[RunSummary]]) -> int | None:
    """The clients that gave most."""
    return max(by_clients, key=lambda clients: compute_throughput(by_clients[clients]), default=None)


def conclude_cell(cell: SuiteCell, runs: Sequence[RunSummary]) -> CellResult | None:
    """Returns the result of a cell, None before its first run."""
    cell_runs = cell.select_runs(runs)
    by_clients = group_by_clients(cell_runs)
    clients = choose_best(by_clients)
    if clients is None:
        return None
    taken = select_repeats(cell_runs, clients) or by_clients[clients]
    shares = [share for run in taken if (share := compute_cpu_share(run, cell)) is not None]
    times = [run.metrics["response_mean"] for run in taken if "response_mean" in run.metrics]
    opened = [run.metrics["response_mean"] for run in cell_runs if "rate" in run.request.settings if run.is_valid]
    share = fmean(shares) if shares else None
    ordered = list(by_clients.values())
    return CellResult(
        cell=cell,
        runs=len(cell_runs),
        clients=clients,
        throughput=tuple(run.metrics["throughput"] for run in taken if "throughput" in run.metrics),
        response_s=fmean(times) if times else None,
        cpu_share=share,
        is_full=(share is not None and share >= FULL_CPU_SHARE) or (_is_flat(ordered) and not _is_broken(ordered[-1])),
        is_driver_bound=any(run.is_driver_bound for run in taken),
        doubts=tuple(dict.fromkeys(doubt for run in taken for doubt in _doubts(run))),
        bottleneck=describe_common(taken),
        open_response_s=fmean(opened) if opened else None,
    )


def _doubts(run: RunSummary) -> list[str]:
    """Reasons of an invalid run; errors of a failed one."""
    if not run.is_valid:
        return list(run.reasons)
    errors = run.metrics.get("errors")
    return [f"{errors:.3g} % of its operations in error"] if errors else []
