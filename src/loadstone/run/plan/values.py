"""The generators of a plan's values. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from loadstone.model.errors import UsageError
from loadstone.model.workload.values import (
    Choice,
    Counter,
    Date,
    Environment,
    Exponential,
    Now,
    TableValues,
    Text,
    Uniform,
    Unique,
    User,
    Uuid,
    Value,
    WordValues,
    Zipf,
)
from loadstone.run.plan.workload_load import Json


@dataclass(frozen=True)
class DataSize:
    """What values are drawn from."""

    sessions: int
    rows: Mapping[str, int]

    def count_rows(self, fixed: int | None, per_session: float | None, kind: str | None = None) -> int:
        """A number as it is declared: fixed, for each session, or of the rows of a kind."""
        if kind is not None:
            return self.rows[kind]
        return fixed if fixed is not None else max(1, round((per_session or 0) * self.sessions))


def compile_value(name: str, value: Value, size: DataSize, index: dict[str, int]) -> Json:
    """A named generator; `index` has the places of states by name. Raises UsageError for a table that is too short."""
    redraw = value.redraw
    scope = redraw if isinstance(redraw, str) else "states"
    states = [] if isinstance(redraw, str) else [index[state] for state in redraw]
    return {"name": name, "scope": scope, "states": states, **_generator(value, size)}


def _generator(value: Value, size: DataSize) -> Json:
    match value:
        case Uniform():
            top = size.count_rows(value.max, value.max_per_session, value.max_of)
            return {"kind": "uniform", "min": value.min, "max": max(top, value.min), "digits": value.digits}
        case Exponential():
            top = size.count_rows(value.max, None, value.max_of)
            return {"kind": "exponential", "max": top, "mean_share": value.mean_share}
        case Zipf():
            n = size.count_rows(value.n, value.n_per_session)
            return {"kind": "zipf", "n": n, "alpha": value.alpha, "first": value.first, "digits": value.digits}
        case User():
            settings = {"per_session": value.per_session, "first": value.first, "digits": value.digits}
            return {"kind": "user", **settings, "any": value.any}
        case TableValues() if value.own and len(value.rows) < size.sessions:
            size_text = f"{len(value.rows)} rows for {size.sessions} sessions, but each session needs its own row"
            raise UsageError(f"A table of values has {size_text}. Add rows, or use fewer sessions.")
        case Date():
            first, last = (_day(text) for text in (value.from_, value.to))
            return {"kind": "date", "from_days": min(first, last), "to_days": max(first, last)}
        case Counter() | Unique() | Uuid() | Now():
            return _new_each_time(value)
        case _:
            return _chosen(value)


def _new_each_time(value: Counter | Unique | Uuid | Now) -> Json:
    """Generators whose texts differ at each draw."""
    match value:
        case Counter():
            return {"kind": "counter", "first": value.first, "digits": value.digits}
        case Unique():
            return {"kind": "unique", "form": "text", "prefix": value.prefix}
        case Uuid():
            return {"kind": "unique", "form": "uuid", "prefix": ""}
        case Now():
            return {"kind": "now", "form": value.form}


def _chosen(value: Choice | TableValues | Environment | WordValues | Text) -> Json:
    """Generators of texts that stand in the declaration."""
    match value:
        case Choice():
            return {"kind": "choice", "values": list(value.values), "weights": _weights(value.weights)}
        case TableValues():
            table = {"columns": list(value.columns), "rows": [list(row) for row in value.rows]}
            return {
                "kind": "table",
                **table,
                "weights": _weights(value.weights),
                **({"own": True} if value.own else {}),
            }
        case Environment():
            return {"kind": "secret", "variable": value.variable}
        case WordValues():
            return {"kind": "words", "words": list(value.words), "count": value.count, "separator": value.separator}
        case Text():
            return {"kind": "text", "text": value.text}


def _weights(weights: tuple[float, ...] | None) -> list[float] | None:
    return None if weights is None else list(weights)


def _day(text: str) -> int:
    return (date.fromisoformat(text) - date(1970, 1, 1)).days
