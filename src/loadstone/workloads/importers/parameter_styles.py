"""Parameters of an OpenAPI document as their `style` and `explode` write them (OpenAPI 3.1, Style Values)."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

RESERVED = ":/?[]@!$&'()*+,;="
"""Characters that `allowReserved` leaves as they are; `#` would end the address."""
STYLE_SEPARATORS = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}
"""Between the entries of a list that is one field of a query."""

NameAndValue = tuple[str, Any]
Encode = Callable[[str], str]


def format_plain(value: Any) -> str:
    """A value as it stands in a path, a query, a form or a header: texts as they are, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def encode_value(value: Any, is_reserved_allowed: bool = False) -> str:
    """A value percent-encoded for an address."""
    return quote(format_plain(value), safe=RESERVED if is_reserved_allowed else "")


def query_fields(name: str, value: Any, style: str, explode: bool, encode: Encode) -> list[str]:
    """Fields of a query, encoded, as `ids=3`."""
    if style == "deepObject" and isinstance(value, Mapping):
        return [f"{encode(key)}={encode(format_plain(text))}" for key, text in _deep(name, value)]
    if not isinstance(value, Mapping | list):
        return [f"{encode(name)}={encode(format_plain(value))}"]
    if explode:
        pairs = value.items() if isinstance(value, Mapping) else [(name, entry) for entry in value]
        return [f"{encode(str(key))}={encode(format_plain(entry))}" for key, entry in pairs]
    texts = [encode(format_plain(entry)) for entry in _flat(value)]
    return [f"{encode(name)}={STYLE_SEPARATORS.get(style, ',').join(texts)}"]


def format_path(name: str, value: Any, style: str, explode: bool) -> str:
    """A parameter of a path, encoded: by the styles `simple`, `label` and `matrix`."""
    if not isinstance(value, Mapping | list):
        return get_path_prefix(name, style) + encode_value(value)
    pairs = (
        [f"{encode_value(key)}={encode_value(entry)}" for key, entry in value.items()]
        if isinstance(value, Mapping)
        else None
    )
    texts = pairs if explode and pairs is not None else [encode_value(entry) for entry in _flat(value)]
    if style == "label":
        return "." + ("." if explode else ",").join(texts)
    if style == "matrix":
        named = texts if pairs is not None else [f"{encode_value(name)}={text}" for text in texts]
        return "".join(f";{text}" for text in named) if explode else f";{encode_value(name)}={','.join(texts)}"
    return ",".join(texts)


def get_path_prefix(name: str, style: str) -> str:
    """Returns the text before a single value in a path."""
    return {"label": ".", "matrix": f";{encode_value(name)}="}.get(style, "")


def format_simple(value: Any, explode: bool) -> str:
    """A parameter of a header."""
    if isinstance(value, Mapping) and explode:
        return ",".join(f"{key}={format_plain(entry)}" for key, entry in value.items())
    return ",".join(map(format_plain, _flat(value))) if isinstance(value, Mapping | list) else format_plain(value)


def _flat(value: Mapping[str, Any] | list[Any]) -> Iterable[Any]:
    """Entries of a list; names and values of a table in turn."""
    return value if isinstance(value, list) else (part for pair in value.items() for part in pair)


def _deep(name: str, value: Any) -> Iterable[NameAndValue]:
    """Fields of a table inside brackets, as `filter[color]`; those of lists are repeated."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _deep(f"{name}[{key}]", entry)
    elif isinstance(value, list):
        yield from ((name, entry) for entry in value)
    else:
        yield name, value
