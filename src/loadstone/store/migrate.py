"""The one place where documents of older versions become today's. Each function goes from schema 1 to 2; a later schema
gets a function of its own behind it.
"""

import re
from dataclasses import asdict
from typing import Any

from loadstone.model.figures import NO_CONNECTIONS, NO_SESSIONS, NO_TALLY
from loadstone.model.records.check import CheckId

OldDocument = dict[str, Any]

IDS_BY_TITLE = {
    "steady state measured": CheckId.STEADY_STATE,
    "good operations": CheckId.GOOD_SHARE,
    "tolerable operations": CheckId.TOLERABLE_SHARE,
    "good operations of each kind": CheckId.GOOD_SHARE_EACH,
    "audits made": CheckId.AUDIT_MADE,
    "orders held": CheckId.AUDIT_HELD,
    "work orders held": CheckId.AUDIT_HELD,
    "orders held beyond those acknowledged": CheckId.AUDIT_BEYOND,
    "work orders held beyond those acknowledged": CheckId.AUDIT_BEYOND,
    "sums of all orders that differ": CheckId.AUDIT_HASHES,
    "sums of all work orders that differ": CheckId.AUDIT_HASHES,
    "database rules broken": CheckId.DATABASE_RULES,
    "validation errors": CheckId.VALIDATION_ERRORS,
    "operations without an answer": CheckId.UNANSWERED,
    "driver errors": CheckId.DRIVER_ERRORS,
    "sessions begun of those due": CheckId.ARRIVALS_BEGUN,
    "mix deviation of a page": CheckId.MIX_DEVIATION,
    "net deviation": CheckId.NET_DEVIATION,
    "operations without a sample": CheckId.UNSAMPLED,
    "lead before steady state": CheckId.LEAD,
    "pause deviation": CheckId.PAUSE_DEVIATION,
    "mean think time": CheckId.MEAN_THINK_TIME,
    "cycle time of an operation": CheckId.CYCLE_TIME,
    "driver lag p99": CheckId.DRIVER_LAG,
    "busiest driver thread": CheckId.DRIVER_CPU,
    "TCP memory pressure": CheckId.TCP_MEMORY,
    "conditional requests honoured": CheckId.CONDITIONAL_HONOURED,
    "connections accepted late": CheckId.ACCEPTED_LATE,
    "parts that died or were ended": CheckId.PARTS_DIED,
    "power samples of the server, loaded": CheckId.POWER_SAMPLES,
    "power samples of the server, idle": CheckId.POWER_SAMPLES,
    "power samples of the system, loaded": CheckId.POWER_SAMPLES,
    "power samples of the system, idle": CheckId.POWER_SAMPLES,
    "measured windows apart": CheckId.WINDOWS_APART,
    "host's cores in use": CheckId.HOST_BUSY,
    "qualities without a sample": CheckId.QUALITY_UNSAMPLED,
    "workloads not at full load when the window began": CheckId.NOT_AT_FULL_LOAD,
}
"""What checks were known by in schema 1: their titles."""

TILE_LABEL = re.compile(r"tile(\d+)-(web|dealers|lines|mail|idle|poll)")
"""How schema 1 said which tile a workload was of."""
NO_CYCLES = {"count": 0, "drawn_ns": 0, "actual_ns": 0}
NO_TIMES = {"count": 0, "mean_ns": 0.0, "p50_ns": 0, "p99_ns": 0, "max_ns": 0, "clamped": 0, "hdr": ""}


def migrate_manifest(old: OldDocument) -> OldDocument:
    """A result's manifest."""
    is_of_tiles = "tiles" in old
    new = {key: value for key, value in old.items() if key != "terms"}
    new["criteria"] = [migrate_criteria(terms, is_of_tiles) for terms in old["terms"]]
    new["system"] = migrate_system(old.get("system") or {"kind": "reference"})
    new["machines"] = {name: migrate_machine(facts) for name, facts in (old.get("machines") or {}).items()}
    new["power"] = old.get("power") or []
    return {**new, "schema": 2}


def migrate_criteria(old: OldDocument, is_of_tiles: bool) -> OldDocument:
    """Migrates the criteria of one workload."""
    new = {key: value for key, value in old.items() if key != "workload"}
    return {**new, "id": migrate_workload_id(old["workload"], is_of_tiles)}


def migrate_workload_id(label: str, is_of_tiles: bool) -> OldDocument:
    """Which workload a label meant."""
    matched = TILE_LABEL.fullmatch(label) if is_of_tiles else None
    if matched is None:
        return {"workload": label}
    kind = matched[2]
    origins = {"web": "support", "dealers": "dealership", "lines": "manufacturing", "mail": "mail"}
    phase = "active_idle" if kind == "poll" else "loaded"
    return {"workload": origins.get(kind, "idle"), "tile": int(matched[1]), "kind": kind, "phase": phase}


def migrate_system(old: OldDocument) -> OldDocument:
    """Migrates the description of the measured system."""
    settings = {key: value for key, value in old.items() if key != "kind"}
    return {"kind": old["kind"], "settings": settings}


def migrate_machine(old: OldDocument) -> OldDocument:
    """Migrates the settings of a machine."""
    named = ("about", "platform", "accelerator", "networks")
    facts = {key: value for key, value in old.items() if key not in named}
    return {**{key: old[key] for key in named if old.get(key) is not None}, "facts": facts}


def migrate_verdict(old: OldDocument) -> OldDocument:
    """A kept verdict."""
    workloads = [
        {
            **workload,
            "iterations": [{**each, "checks": migrate_checks(each["checks"])} for each in workload["iterations"]],
        }
        for workload in old["workloads"]
    ]
    common = old.get("consolidation")
    if common is not None:
        common = {**common, "checks": migrate_checks(common["checks"])}
    return {**old, "workloads": workloads, "consolidation": common, "schema": 2}


def migrate_checks(old: list[OldDocument]) -> list[OldDocument]:
    """Checks, which were known by their titles."""
    return [{**check, "id": IDS_BY_TITLE.get(check["rule"], CheckId.UNKNOWN)} for check in old]


def migrate_study(old: OldDocument) -> OldDocument:
    """A study's declaration."""
    kind = "compare" if old["kind"] == "platforms" else old["kind"]
    return {**old, "kind": kind, "system": migrate_system(old["system"]), "schema": 2}


def answer(old: OldDocument) -> OldDocument:
    """A study's answer; what platforms cost against each other was a kind of its own."""
    kind = "compare" if old["kind"] == "platforms" else old["kind"]
    runs = [run_summary(run) for run in old["runs"]]
    if kind == "tiles":
        runs = [migrate_tile_trial(trial, part["workload"]) for part in old["parts"] for trial in part["tried"]]
    parts = [answer_part(part, kind) for part in old["parts"]]
    return {**old, "kind": kind, "parts": parts, "runs": runs, "schema": 2}


def answer_part(old: OldDocument, kind: str) -> OldDocument:
    """The answer about one workload."""
    new: OldDocument = with_metrics(old)
    if "figure" in new:
        new["metric"] = new.pop("figure")
    if "searches" in new:
        new["searches"] = [search_of_side(search, new["workload"]) for search in new["searches"]]
    return migrate_searched_loads(new) if kind == "search" else new


def with_metrics(old: Any) -> Any:
    """Renames figures to metrics, at every depth."""
    if isinstance(old, dict):
        return {"metrics" if key == "figures" else key: with_metrics(value) for key, value in old.items()}
    return [with_metrics(value) for value in old] if isinstance(old, list) else old


def search_of_side(old: OldDocument, workload: str) -> OldDocument:
    """One search of a comparison, with its side among the fields of its answer."""
    loads = migrate_searched_loads({**old, "workload": workload})
    return {"side": old["side"], "answer": loads}


def migrate_searched_loads(old: OldDocument) -> OldDocument:
    """The loads that a search tried: of their rules, neither weight nor outcome was kept."""
    unknown = {"weight": "note", "outcome": "kept"}
    loads = [
        {**load, "rules": migrate_checks([{**unknown, **rule} for rule in load["rules"]])} for load in old["loads"]
    ]
    return {**old, "loads": loads}


def run_summary(old: OldDocument) -> OldDocument:
    """A run of a study."""
    new = {key: value for key, value in old.items() if key not in ("wanted", "rules", "figures")}
    rules = [
        {**{key: value for key, value in rule.items() if key != "name"}, "rule": rule["name"]} for rule in old["rules"]
    ]
    request = {**old["wanted"], "search": search_of(old["wanted"]["key"])}
    return {**new, "request": request, "checks": migrate_checks(rules), "metrics": old["figures"]}


SEARCH_KEY = re.compile(r"(a|b|c|[ab]\d+)-\d{3}-")
"""How keys of runs began that belonged to a search of a study; `c` are the curves of a comparison of platforms."""


def search_of(key: str) -> str:
    """Which of a study's searches a run belonged to, by its key."""
    matched = SEARCH_KEY.match(key)
    return {"c": "curves"}.get(matched[1], matched[1]) if matched else ""


def migrate_tile_trial(old: OldDocument, tile: str) -> OldDocument:
    """A run of a search of tiles."""
    request = {"key": "", "workload": tile, "settings": {"tenths": str(old["tenths"])}, "seed": 0}
    metrics = {"score": old["score"], "tiles_quality": old["qos_pct"]}
    unchanged = {key: old[key] for key in ("verdict", "folder")}
    return {**unchanged, "request": request, "reasons": old["reasons"], "metrics": metrics, "checks": []}


def migrate_event(old: OldDocument) -> OldDocument:
    """An event of a driver of an older schema, or of one that did not count all that this one counts."""
    match old.get("event"):
        case "interval":
            return with_connections(old)
        case "totals":
            operations = [make_operation_record(totals) for totals in old["operations"]]
            sessions = {**asdict(NO_SESSIONS), **old["sessions"]}
            return {"pause": NO_TIMES, **with_connections(old), "operations": operations, "sessions": sessions}
        case _:
            return old


def with_connections(old: OldDocument) -> OldDocument:
    """Counts of connections, which were called `wires` up to schema 6; a count that did not exist is 0."""
    return {**old, "connections": {**asdict(NO_CONNECTIONS), **(old.get("connections") or old["wires"])}}


def find_uncounted(totals: OldDocument) -> frozenset[str]:
    """Counts of sessions and connections that the driver of these totals did not make."""
    counts = {**totals["sessions"], **(totals.get("connections") or totals["wires"])}
    return frozenset({**asdict(NO_SESSIONS), **asdict(NO_CONNECTIONS)}.keys() - counts.keys())


def make_operation_record(old: OldDocument) -> OldDocument:
    """One operation over the steady state: up to schema 6, sums were means and counts had no record of their own.
    Schema 1 did not keep what the edges of the steady state cut off, so there is only what lay inside.
    """
    inside = {"ended_bytes": old["counts"]["bytes"], "answered": old["response"], "entered": NO_TIMES, "lost": NO_TIMES}
    unknown = {"requests_beside": [], "statuses": [], "slowest": {"time_ns": 0, "at_ns": 0}, "words": []}
    tally = {**asdict(NO_TALLY), **(old.get("tally") or {name: old.get(name, 0) for name in asdict(NO_TALLY)})}
    new = {"cycles": NO_CYCLES, **inside, **unknown, **old, "tally": tally}
    if "line_ns" in old:
        return new
    files = [{**file, "sum_ns": file["mean_ns"] * file["requests"]} for file in old.get("files", ())]
    return {**new, "line_ns": old["line_mean_ns"] * old["response"]["count"], "files": files}


def migrate_figures(old: OldDocument) -> OldDocument:
    """Figures of an iteration; in schema 1 there were only published ones."""
    counts = {
        "connections": {**asdict(NO_CONNECTIONS), **(old.get("connections") or old.get("wires") or {})},
        "sessions": {**asdict(NO_SESSIONS), **(old.get("sessions") or {})},
    }
    unknown = asdict(NO_TALLY)
    operations = [{"inside": each.get("response"), **unknown, **each} for each in old.get("operations", ())]
    is_disclosed = bool((old.get("lag") or {}).get("count"))
    return {"figures": {"is_disclosed": is_disclosed, **old, **counts, "operations": operations}, "schema": 2}
