"""The page of the exported metrics: Prometheus and OTLP of a run, Prometheus of pairs."""

from collections.abc import Iterator

from prometheus_client.core import Metric

from docs_reference.markdown import code, paragraph, sentence, table
from loadstone.telemetry.otlp import build_message
from loadstone.telemetry.pairs import PairFigures
from loadstone.telemetry.prometheus import Figures
from loadstone.telemetry.tally import BOUNDS_S, PartTally, Tally

HEAD = ("metric", "type", "unit", "labels", "meaning")
UNITS = {"bytes": "bytes", "seconds": "s", "bits_per_second": "bit/s", "ratio": "0 to 1", "share": "share of a core"}
"""Units by the end of a metric's name; all others count."""


def metrics() -> Iterator[str]:
    """Blocks of metrics.md."""
    tally = _Started()
    yield "# Metrics"
    yield paragraph(
        "`make reference` writes this page from the code that exports. Counters have the suffix `_total` in "
        "Prometheus; histograms have `_bucket`, `_sum` and `_count`."
    )
    yield "## A run, for Prometheus"
    yield paragraph(
        "`--prometheus 127.0.0.1:9464` serves the figures of a run at `/metrics`. At an address beyond loopback it "
        "requires `LOADSTONE_TOKEN`, which Prometheus sends as bearer token."
    )
    yield table(HEAD, map(_row, Figures(tally).collect()))
    bounds = ", ".join(f"{bound:g}" for bound in BOUNDS_S)
    yield paragraph(f"Upper bounds of the histograms' buckets, in seconds: {bounds}.")
    yield "## A run, for OpenTelemetry"
    yield paragraph(
        "`--otlp http://127.0.0.1:4318` sends the figures to a collector, by OTLP over HTTP. Every metric has the "
        "attribute `workload`."
    )
    sent = build_message(tally, 0, 1).resource_metrics[0].scope_metrics[0].metrics
    rows = [
        (code(metric.name), metric.WhichOneof("data"), metric.unit, "", sentence(metric.description)) for metric in sent
    ]
    yield table(HEAD, rows)
    yield "## Pairs, for Prometheus"
    yield paragraph(
        "`loadstone serve` serves the status of all pairs at `/pairs/metrics`, and `loadstone pair metrics` prints it. "
        "Values that are not known are left out."
    )
    yield table(HEAD, map(_row, PairFigures(()).collect()))


class _Started(Tally):
    """A tally with one workload, so that every metric is there."""

    def hold_parts(self) -> Iterator[tuple[str, PartTally]]:
        yield "workload", PartTally(())


def _row(metric: Metric) -> tuple[str, ...]:
    labels = ", ".join(map(code, getattr(metric, "_labelnames", ())))
    unit = next((unit for end, unit in UNITS.items() if metric.name.endswith(end)), "")
    name = f"{metric.name}_total" if metric.type == "counter" else metric.name
    return code(name), metric.type, unit, labels, sentence(metric.documentation)
