"""Requests of an OpenAPI document's operations: their path, query, headers, cookies, body, and what answers may be."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from loadstone.model.target import encode_path
from loadstone.workloads.importers import parameter_styles as styles
from loadstone.workloads.importers.openapi import Json, OpenApiDocument, copy_list, copy_table
from loadstone.workloads.importers.openapi_servers import Server
from loadstone.workloads.importers.parameter_styles import format_plain
from loadstone.workloads.importers.schema_values import build_example, build_generator
from loadstone.workloads.templates import TARGET
from loadstone.workloads.writing import LONGEST_NAME, escape_braces, name_of

SUCCESS = {
    "2": (200, 201, 202, 203, 204, 205, 206, 207, 208, 226),
    "3": (300, 301, 302, 303, 304, 307, 308),
}
"""Status codes that `2XX` and `3XX` stand for (IANA's registry)."""
IGNORED_HEADERS = ("accept", "content-type", "authorization")
"""Headers that are no parameters (OpenAPI 3.1, Parameter Object)."""
USUAL_STYLE = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
BOUNDARY_TEXT = "loadstone-7c0e4b1d9a52f386"
"""Stands between the parts of a form."""
UPLOAD_BYTES = 1024
"""Length of the files that forms are sent with."""


@dataclass
class DrawnValues:
    """The values that operations draw, by name; the same parameter is drawn in the same way everywhere."""

    generators: dict[str, Json] = field(default_factory=dict)
    unfit: list[str] = field(default_factory=list)
    """Patterns for which there is no value."""

    _names: dict[tuple[str, str], str] = field(default_factory=dict)
    """Names by the parameter's name and the generator."""
    _numbers: Counter[str] = field(default_factory=Counter)

    def add_hole(self, name: str, drawn: Json) -> str:
        """The hole of a value that is drawn in this way, named after a parameter."""
        base = re.sub(r"[^A-Za-z0-9_]+", "_", name[:LONGEST_NAME]).strip("_") or "value"
        base = base if base[0].isalpha() and base != TARGET else f"v_{base}"
        identity = (base, json.dumps(drawn, sort_keys=True))
        while identity not in self._names:
            self._numbers[base] += 1
            number = self._numbers[base]
            key = base if number == 1 else f"{base}_{number}"
            if key not in self.generators:
                self.generators[key] = drawn
                self._names[identity] = key
        return f"{{{self._names[identity]}}}"


@dataclass(frozen=True)
class _Parameter:
    """A parameter of an operation, and what is sent for it."""

    name: str
    where: str
    style: str
    explode: bool
    allows_reserved: bool
    hole: str | None = None
    """The hole of the value that is drawn for it; None where `value` is sent."""
    value: Any = None


@dataclass
class _Operation:
    """Parts of a request that its parameters fill."""

    path: str = ""
    fields: list[str] = field(default_factory=list)
    """Of the query, encoded, for what its table cannot say."""
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: list[str] = field(default_factory=list)


@dataclass
class ImportState:
    """An import under way: the document, its values, and notes for the user."""

    document: OpenApiDocument
    values: DrawnValues = field(default_factory=DrawnValues)
    left_out: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    served: dict[str, Server] = field(default_factory=dict)
    """Operations by name, and where they are served."""


def request_of(state: ImportState, key: str, path: str, method: str, content: Json) -> Json:
    """The table of an operation; parts that cannot be sent are noted as left out or doubtful."""
    request: Json = {"method": method.upper()} if method != "get" else {}
    parameters = [_parameter(state, parameter) for parameter in content["parameters"]]
    operation = _Operation()
    for parameter in parameters:
        _add_parameter(operation, parameter)
    at_path = {parameter.name: parameter for parameter in parameters if parameter.where == "path"}
    operation.path = _path(state, state.served[key].base, path.partition("#")[0], at_path)
    if operation.fields:
        joined = escape_braces("&".join(operation.fields))
        operation.path += ("&" if "?" in operation.path else "?") + joined
    request["path"] = operation.path
    if operation.query:
        request["query"] = operation.query
    body = _body(state, key, method, content)
    for name, value in body.items():
        if name == "headers":
            operation.headers |= value
        else:
            request[name] = value
    if operation.cookies:
        operation.headers["Cookie"] = "; ".join(operation.cookies)
    if operation.headers:
        request["headers"] = operation.headers
    status = _status(content)
    if status != [200]:
        request["status"] = status
    return request


def _parameter(state: ImportState, parameter: Json) -> _Parameter:
    where = str(parameter.get("in", ""))
    usual = USUAL_STYLE.get(where, "simple")
    style = str(parameter.get("style") or usual)
    explode = parameter.get("explode")
    is_sent = where == "path" or parameter.get("required") is True
    is_exploded = explode if isinstance(explode, bool) else style == "form"
    blank = _Parameter(
        str(parameter.get("name", "")),
        where if is_sent else "",
        style,
        is_exploded,
        parameter.get("allowReserved") is True,
    )
    if not is_sent:
        return blank
    content = copy_table(parameter.get("content"))
    holder = {**copy_table(next(iter(content.values()), None)), **parameter}
    known, value = _example(state.document, holder)
    if not known:
        schema = state.document.expand(holder.get("schema"))
        drawn = None if content else build_generator(schema)
        if drawn is not None:
            return replace(blank, hole=state.values.add_hole(blank.name, drawn))
        value = build_example(schema, state.values.unfit)
    return replace(blank, value=json.dumps(value, ensure_ascii=False, default=str) if content else value)


def _example(document: OpenApiDocument, holder: Json) -> tuple[bool, Any]:
    """Whether a parameter or a body has an example beside its schema, alone or by name, and the first of them."""
    if holder.get("example") is not None:
        return True, holder["example"]
    examples = holder.get("examples")
    for named in copy_table(examples).values():
        entry = document.resolve(named)
        if "value" in entry:
            return True, entry["value"]
    known = [example for example in copy_list(examples) if example is not None]
    return bool(known), known[0] if known else None


def _add_parameter(operation: _Operation, parameter: _Parameter) -> None:
    """Puts a parameter into the query, the headers or the cookies; those of the path are put there later."""
    name, value, hole = parameter.name, parameter.value, parameter.hole
    if parameter.where == "query":
        text = format_plain(value)
        is_simple = not isinstance(value, dict | list) and text.isprintable() and not parameter.allows_reserved
        if hole is not None or is_simple:
            operation.query[name] = hole or escape_braces(text)
            return
        encode = partial(styles.encode_value, is_reserved_allowed=parameter.allows_reserved)
        operation.fields += styles.query_fields(name, value, parameter.style, parameter.explode, encode)
    elif parameter.where == "header" and name.lower() not in IGNORED_HEADERS:
        operation.headers[name] = hole or escape_braces(clean_line(styles.format_simple(value, parameter.explode)))
    elif parameter.where == "cookie":
        fields = styles.query_fields(name, value, parameter.style, parameter.explode, styles.encode_value)
        operation.cookies += [f"{name}={hole}"] if hole else map(escape_braces, fields)


def clean_line(text: str) -> str:
    """A text with a blank in place of each control character, as headers need it."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _path(state: ImportState, base: str, path: str, parameters: Mapping[str, _Parameter]) -> str:
    """A path with its parameters in place; those that are not declared are drawn from a single text, and doubted."""
    pieces = [escape_braces(encode_path(base))]
    for piece in re.split(r"(\{[^{}]*\})", path):
        name = piece[1:-1]
        if not piece.startswith("{") or not name:
            pieces.append(escape_braces(encode_path(piece)))
        elif name not in parameters:
            pieces.append(state.values.add_hole(name, {"kind": "choice", "values": ["1"]}))
            state.doubts.append(f"`{piece}` of {path[:200]} is not declared: `1` is sent")
        else:
            parameter = parameters[name]
            prefix = escape_braces(styles.get_path_prefix(name, parameter.style))
            text = escape_braces(styles.format_path(name, parameter.value, parameter.style, parameter.explode))
            pieces.append(text if parameter.hole is None else prefix + parameter.hole)
    return "".join(pieces)


def _body(state: ImportState, key: str, method: str, operation: Json) -> Json:
    """Keys of an operation that send its body: `body`, `form` or `uploads`, and `headers`. Empty for an operation
    without a body, and for a media type that is not supported, which is noted as left out.
    """
    contents = copy_table(state.document.resolve(operation.get("requestBody")).get("content"))
    if not contents:
        return {}
    kind = min(contents, key=_preference)
    body = _encoded_body(state, kind, copy_table(contents[kind]))
    if not body or (method in ("get", "head") and "body" not in body):
        state.left_out.append(f"the body ({kind[:100]}) of {key}")
        return {}
    return body


def _preference(kind: str) -> int:
    """JSON goes before forms, forms before all else."""
    name = kind.partition(";")[0].strip().lower()
    if re.search(r"[/+]json$", name) or name.endswith("*"):
        return 0 if name == "application/json" else 1
    return {"application/x-www-form-urlencoded": 2, "multipart/form-data": 3}.get(name, 4)


def _encoded_body(state: ImportState, kind: str, media: Json) -> Json:
    schema = state.document.expand(media.get("schema"))
    known, value = _example(state.document, media)
    sent = value if known else build_example(schema, state.values.unfit)
    match _preference(kind):
        case 0 | 1:
            is_json = isinstance(sent, str) and schema.get("type") != "string" and _is_json(sent)
            text = sent if is_json else json.dumps(sent, ensure_ascii=True, default=str)
            kind = "application/json" if "*" in kind else kind
        case 2 if isinstance(sent, dict):
            if all(not isinstance(field, dict | list) and format_plain(field).isprintable() for field in sent.values()):
                return {"form": {name: escape_braces(format_plain(field)) for name, field in sent.items()}}
            text = "&".join(_form_fields(media, sent))
        case 3 if isinstance(sent, dict):
            return _in_parts(schema, media, sent)
        case 4 if isinstance(sent, str) and known:
            text = sent
        case 4 if kind.lower().startswith("text/"):
            text = format_plain(sent)
        case 4 if re.search(r"[/+](x-)?(nd)?json(lines|l|-seq)?\b", kind.lower()):
            text = json.dumps(sent, ensure_ascii=True, default=str) + "\n"
        case _:
            return {}
    return {"body": escape_braces(text), "headers": {"Content-Type": clean_line(kind)}}


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _form_fields(media: Json, sent: Json) -> list[str]:
    """Fields of a form that has lists: each as its encoding says, and repeated where it says nothing."""
    encodings = copy_table(media.get("encoding"))
    fields: list[str] = []
    for name, value in sent.items():
        encoding = copy_table(encodings.get(name))
        style, explode = str(encoding.get("style", "form")), encoding.get("explode")
        if isinstance(value, dict) and "style" not in encoding:
            value = json.dumps(value, default=str)
        explode = explode if isinstance(explode, bool) else style == "form"
        fields += styles.query_fields(name, value, style, explode, styles.encode_value)
    return fields


def _in_parts(schema: Json, media: Json, sent: Json) -> Json:
    """A form of several parts (RFC 7578); lists are repeated, tables are JSON."""
    parts = copy_table(schema.get("properties"))
    files = [name for name, part in parts.items() if _is_file(part) or _is_file(copy_table(part).get("items"))]
    fields = [
        (name, part)
        for name, value in sent.items()
        if name not in files
        for part in (value if isinstance(value, list) else [value])
    ]
    if files:
        pairs = [[name, escape_braces(clean_line(format_plain(value)))] for name, value in fields]
        form = pairs if len({name for name, _ in fields}) < len(fields) else dict(pairs)
        uploads = {name: {"file_name": f"{name_of(name, 'file', 'f')}.bin", "bytes": UPLOAD_BYTES} for name in files}
        return {**({"form": form} if form else {}), "uploads": uploads}
    encodings = copy_table(media.get("encoding"))
    text = (
        "".join(_part(name, value, copy_table(encodings.get(name))) for name, value in fields)
        + f"--{BOUNDARY_TEXT}--\r\n"
    )
    return {"body": escape_braces(text), "headers": {"Content-Type": f"multipart/form-data; boundary={BOUNDARY_TEXT}"}}


def _is_file(part: Any) -> bool:
    schema = copy_table(part)
    return schema.get("format") == "binary" or "contentMediaType" in schema or "contentEncoding" in schema


def _part(name: str, value: Any, encoding: Json) -> str:
    kind = str(encoding.get("contentType") or ("application/json" if isinstance(value, dict | list) else ""))
    typed = f"Content-Type: {clean_line(kind.partition(',')[0])}\r\n" if kind else ""
    quoted = clean_line(name).replace('"', "%22")
    return (
        f'--{BOUNDARY_TEXT}\r\nContent-Disposition: form-data; name="{quoted}"\r\n{typed}\r\n{format_plain(value)}\r\n'
    )


def _status(operation: Json) -> list[int]:
    """The status codes that the document calls a success; all there are where it names none, or only `default`."""
    codes: set[int] = set()
    for code in copy_table(operation.get("responses")):
        if re.fullmatch(r"[23][0-9][0-9]", code):
            codes.add(int(code))
        elif re.fullmatch(r"[23][xX]{2}", code):
            codes.update(SUCCESS[code[0]])
    is_named = any(code[:1].isdigit() for code in copy_table(operation.get("responses")))
    usual = SUCCESS["2"] if is_named or "default" in copy_table(operation.get("responses")) else (200,)
    return sorted(codes or usual)
