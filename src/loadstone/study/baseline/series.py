"""What is kept of a series of runs, to be compared with later ones. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.model.errors import UsageError
from loadstone.model.records.manifest import HostFacts, ProfileRecord, Settings, StudyManifest, SystemRecord
from loadstone.study.answers import AnswerMeans
from loadstone.study.baseline.valid_runs import LEAST_VALID, advise_runs, explain_lack, find_lacking
from loadstone.study.failures import Failures
from loadstone.study.metrics import METRICS
from loadstone.study.settings import StoredSettings
from loadstone.study.summary import RunSummary

BASELINE_SCHEMA = 2


@dataclass(frozen=True)
class KeptSeries:
    """Valid runs of one workload."""

    workload: str
    settings: StoredSettings
    runs: int
    metrics: Mapping[str, tuple[float, ...]]
    conditions: tuple[Mapping[str, str], ...] = ()
    """What the machines of each run were given."""
    load: str = ""
    """The load in words."""
    declaration_sha256: str = ""
    """Check sum of the workload's file."""
    passed: int = 0
    """How many of the runs passed."""
    invalid: int = 0
    """Runs that were left out, since they were invalid."""
    answers: tuple[Mapping[str, AnswerMeans], ...] = ()
    """Mean size and usual status of each operation's answers, run by run."""

    @property
    def failures(self) -> Failures:
        """How the runs failed."""
        return Failures(self.runs, self.passed, self.metrics.get("errors", ()), self.metrics.get("good", ()))


@dataclass(frozen=True)
class Baseline:
    """What is kept of a series of runs, to be compared with later ones."""

    name: str
    made: str
    """When the series began (ISO 8601)."""
    study: str
    """Its folder's name."""
    versions: Mapping[str, str | None]
    host: HostFacts
    profile: ProfileRecord
    series: tuple[KeptSeries, ...]
    system: SystemRecord
    placement: Mapping[str, Settings]
    """Where services ran, by role."""
    clock: str
    schema: int = BASELINE_SCHEMA


def build_baseline(name: str, folder: str, manifest: StudyManifest, runs: Sequence[RunSummary]) -> Baseline:
    """Returns the baseline of a study and its runs. Raises UsageError for a study that does not show how far runs
    scatter.
    """
    if manifest.kind != "repeat":
        raise UsageError(f"{folder} is a study of the kind `{manifest.kind}`. Use `loadstone repeat` for a series.")
    series = tuple(_series(runs))
    lacking = find_lacking(runs)
    if lacking:
        raise UsageError(f"{'; '.join(map(explain_lack, lacking))}. {advise_runs(lacking)}")
    if not series:
        raise UsageError(f"{folder} has no run. Measure a series with `loadstone repeat --runs {LEAST_VALID + 2}`.")
    old = [entry.workload for entry in series if not entry.load]
    if old:
        raise UsageError(
            f"{folder} does not record the load of {', '.join(old)}: an older version made it, so nothing can be "
            "compared with it safely. Run the series again with `loadstone repeat`."
        )
    return Baseline(
        name=name,
        made=manifest.started,
        study=folder,
        versions=manifest.versions,
        host=manifest.host,
        profile=manifest.profile,
        series=series,
        system=manifest.system,
        placement=manifest.placement,
        clock=manifest.clock,
    )


def _series(runs: Sequence[RunSummary]) -> Iterable[KeptSeries]:
    for workload in dict.fromkeys(run.request.workload for run in runs):
        valid = [run for run in runs if run.request.workload == workload and run.is_valid]
        names = [name for name in METRICS if valid and all(name in run.metrics for run in valid)]
        metrics = {name: tuple(run.metrics[name] for run in valid) for name in names}
        settings = dict(valid[0].request.settings) if valid else {}
        yield KeptSeries(
            workload=workload,
            settings=settings,
            runs=len(valid),
            metrics=metrics,
            conditions=tuple(run.conditions for run in valid),
            load=valid[0].load if valid else "",
            declaration_sha256=valid[0].declaration_sha256 if valid else "",
            passed=sum(run.passed for run in valid),
            invalid=sum(run.request.workload == workload and not run.is_valid for run in runs),
            answers=tuple(run.answers for run in valid),
        )
