"""A stock application from a real browser's two recordings to a run: what it took, and what did not hold."""

import json
import os
import re
import resource
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

from loadstone.model.records.events import Interval
from loadstone.report.har import REDACTED
from loadstone.store.read import read_result
from loadstone.workloads.importers.answers import list_json_leaves
from loadstone.workloads.importers.from_har import Recording, read_recording
from loadstone.workloads.importers.har import HarExchange
from loadstone.workloads.importers.recorded_request import (
    index_fields,
    pair_list,
    read_body_text,
    read_form_text,
    read_text_parts,
)
from loadstone.workloads.importers.steps import Leaf
from tests.integration.conftest import CHROMIUM, OPTIONS, LoadstoneRunner, newest, run_until
from tests.sites.contract import Application, Stock
from tests.verdicts import WINDOW, broken_rules

WENT_THROUGH = "verified: 2 new users completed the visit at the same time"
LONGEST_IMPORT_S = 10.0
"""Of CPU time, for a recording of a megabyte."""


@dataclass(frozen=True)
class Proof:
    """What was found; counts of one visit."""

    operations: int
    values: int
    """Rules that the import found for values of one visit."""
    needless: int
    """Of those, how many the live site does without: they are dropped."""
    import_s: float
    """CPU time of the command."""
    recorded_bytes: int
    left: int
    """Values that stand in no answer and are sent as they were recorded."""
    is_verified: bool
    sent: int
    """Requests that `try` sent."""
    unlogged: tuple[str, ...]
    """Of those, what the application's own log does not have."""
    unsent: tuple[str, ...]
    """What it has besides, but for the preflight and dates of files that browsers had before."""
    others: tuple[str, ...]
    """Requests of which a field was sent that was not recorded so, and that no rule explains."""
    requests: int
    """Operations of the run that was made of it, from second 0 to its end."""
    errors: int
    """Of them, those that failed, in whichever phase of the run."""

    def faults(self) -> list[str]:
        """What does not hold, in words."""
        found = {
            "two users at once did not go through": not self.is_verified,
            f"the import took {self.import_s:.1f} s": self.import_s > LONGEST_IMPORT_S,
            f"{self.needless} of {self.values} rules are needless": self.needless > 0.05 * self.values,
            f"its log does not have {', '.join(self.unlogged)}": bool(self.unlogged),
            f"its log has besides {', '.join(self.unsent)}": bool(self.unsent),
            f"sent otherwise than recorded: {', '.join(self.others)}": bool(self.others),
            f"{self.errors} of {self.requests} operations failed": self.errors > 0,
        }
        return [told for told, is_so in found.items() if is_so]


def record(stock: Stock, application: Application, file: Path) -> None:
    """Visits an application by a fresh browser, to a HAR file."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        context = browser.new_context(record_har_path=str(file), record_har_content="embed")
        page = context.new_page()
        page.set_default_timeout(20_000)
        try:
            stock.visit(page, application.site)
        except Exception:
            page.screenshot(path=str(file.with_suffix(".png")))
            raise
        finally:
            context.close()
            browser.close()


def proven(stock: Stock, fetched: Path, folder: Path, loadstone: LoadstoneRunner) -> Proof:
    """Records an application twice, imports, verifies, tries and runs what was made, without a hand edit."""
    own = folder / "application"
    own.mkdir()
    with stock.up(fetched, own) as application:
        for name in ("a.har", "b.har"):
            record(stock, application, folder / name)
        before_s = _cpu_s()
        made = loadstone("workloads", "from-har", "a.har", "b.har", "-o", "first")
        import_s = _cpu_s() - before_s
        assert made.returncode == 0, made.stdout + made.stderr
        made = loadstone("workloads", "from-har", "a.har", "b.har", "-o", "mine", "--verify", application.site)
        assert made.returncode == 0, made.stdout + made.stderr
        said = made.stdout
        before = len(application.requests())
        recording = read_recording(folder / "a.har", folder / "b.har")
        os.environ.update(recording.list_secrets("mine"))  # a name that no other test has
        tried = loadstone("try", "mine", "--target", application.site, "--trace", "visit.har")
        assert tried.returncode == 0, tried.stdout + tried.stderr
        _tell_secret(folder / "visit.har", recording)
        sent = _sent(folder / "visit.har", application.site)
        told = Counter(filter(None, map(application.told, sent.elements())))
        seen = Counter(application.requests()[before:])
        words = ("run", "mine", "--target", application.site, "--sessions", "10", *WINDOW)
        ran = run_until(loadstone, folder, lambda result: _count_requests(_list_intervals(result)) > 3, *words)
        assert broken_rules(newest(folder)) == [], ran.stdout + ran.stderr
    intervals = _list_intervals(newest(folder))
    text = (folder / "mine" / "workload.toml").read_text()
    return Proof(
        operations=len(set(re.findall(r"^\[operations\.([^\].]+)\]", text, re.MULTILINE))),
        values=(folder / "first" / "workload.toml").read_text().count("{value ="),
        needless=said.count("needless: "),
        import_s=round(import_s, 1),
        recorded_bytes=(folder / "a.har").stat().st_size,
        left=sum(not place.correlated.value for place in recording.build_workload("mine").places),
        is_verified=WENT_THROUGH in said,
        sent=sent.total(),
        others=tuple(_sent_otherwise(recording, folder / "visit.har")),
        unlogged=tuple((told - seen).elements()),
        unsent=tuple(_beyond_preflight(seen - told)),
        requests=_count_requests(intervals),
        errors=sum(interval.error_count for interval in intervals),
    )


def _list_intervals(result: Path) -> list[Interval]:
    """Lists the intervals of a run of one workload, of all phases."""
    (workload,) = read_result(result).workloads
    return [interval for iteration in workload.iterations for interval in iteration.records.intervals]


def _count_requests(intervals: Sequence[Interval]) -> int:
    return sum(interval.requests for interval in intervals)


def _cpu_s() -> float:
    """CPU time of this process, which may carry out commands itself, and of its children so far."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _tell_secret(trace: Path, recording: Recording) -> None:
    """Puts a password back that a trace withholds: it may be a word of the site's paths."""
    for text in list(recording.list_secrets("mine").values())[:1]:
        trace.write_text(trace.read_text().replace(REDACTED, json.dumps(text)[1:-1]))


def _sent(trace: Path, site: str) -> Counter[str]:
    entries = json.loads(trace.read_text())["log"]["entries"]
    return Counter(f"{one['request']['method']} {one['request']['url'].removeprefix(site)}" for one in entries)


def _beyond_preflight(learned: Counter[str]) -> list[str]:
    """What is left when each file was asked for its date once and the site once whether it is there."""
    return [one for one, times in learned.items() if times > 1 or not one.startswith(("HEAD /", "GET /", "/"))]


def _sent_otherwise(recording: Recording, trace: Path) -> Iterator[str]:
    """Requests with a query or a body, in their order, of which a field is another than in the recording although the
    workload sends it as it was recorded.
    """
    asked = [entry for entry in json.loads(trace.read_text())["log"]["entries"] if entry["response"]["status"] != 101]
    at = 0
    for page in recording.pages:
        fields = _fields(page.first)
        if not fields or page.first.is_socket:
            continue
        known = {leaf for leaf in fields if recording.correlation.fill_leaf(page.name, leaf) is not None}
        plain = {leaf: text for leaf, text in fields.items() if leaf not in known and recording.site not in text}
        found = next((n for n in range(at, len(asked)) if _is_that(asked[n], page.first.method, fields, plain)), None)
        if found is None:
            yield f"{page.name} ({page.first.method} {page.first.parts.path})"
        else:
            at = found + 1


def _is_that(entry: dict[str, Any], method: str, fields: dict[Leaf, str], plain: dict[Leaf, str]) -> bool:
    sent = _fields(HarExchange.model_validate(entry))
    return entry["request"]["method"] == method and sent.keys() == fields.keys() and plain.items() <= sent.items()


def _fields(exchange: HarExchange) -> dict[Leaf, str]:
    """What a request sends by places: its query, its form, its JSON and its parts."""
    request, query = exchange.request, pair_list(urlsplit(exchange.request.url).query)
    fields = {Leaf("query", key): text for key, text in index_fields(query).items()}
    fields |= {Leaf("field", key): text for key, text in index_fields(pair_list(read_form_text(request))).items()}
    fields |= {Leaf("part", name): text for name, text in read_text_parts(request)}
    if not read_form_text(request):
        fields |= {Leaf("JSON", pointer): text for pointer, text in list_json_leaves(read_body_text(request))}
    return fields
