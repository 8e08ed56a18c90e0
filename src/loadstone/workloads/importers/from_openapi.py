"""Importing an OpenAPI document (version 3, JSON or YAML) as a workload of one's own, to be edited.

Operations become operations; parameters and bodies are filled from the document's examples, and where there are none
from its schemas: numbers and choices as values that are drawn, texts as a word. The document does not say how often
each operation is used: what reads comes ten times as often as what writes, and what deletes a hundredth as often.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from loadstone.model.errors import StudyError, UsageError
from loadstone.model.target import encoded
from loadstone.workloads.catalogue import FILE, load
from loadstone.workloads.check import TARGET
from loadstone.workloads.importers import parameter_styles as styles
from loadstone.workloads.importers.imported import Imported
from loadstone.workloads.importers.openapi import METHODS, Document, Json, table
from loadstone.workloads.importers.openapi_servers import UNKNOWN, Server, server
from loadstone.workloads.importers.parameter_styles import plain
from loadstone.workloads.importers.schema_values import example, generator
from loadstone.workloads.writing import LONGEST_NAME, entries, literal, name_of

SHARES = {"GET": 100, "HEAD": 100, "POST": 10, "PUT": 10, "PATCH": 10, "DELETE": 1}
"""How often operations are drawn, by method."""
SUCCESS = {
    "2": (200, 201, 202, 203, 204, 205, 206, 207, 208, 226),
    "3": (300, 301, 302, 303, 304, 307, 308),
}
"""Status codes that `2XX` and `3XX` stand for (IANA's registry)."""
IGNORED_HEADERS = ("accept", "content-type", "authorization")
"""Headers that are no parameters (OpenAPI 3.1, Parameter Object)."""
USUAL_STYLE = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
UPLOAD_BYTES = 1024
"""Length of the files that forms are sent with."""
ROUNDS = 5
"""How often what cannot be loaded is left out before the import gives up."""
ABOUT = """\
# Imported from an OpenAPI document. It does not say how often each operation is used, nor in
# what order: edit the mix, and the values, which must name things that exist.
"""
NOTES = {"limits": "  # what is good enough for you?"}
MOST_NAMED = 10
"""Operations that a line names."""


@dataclass
class _Values:
    """The values that operations draw, by name; the same parameter is drawn in the same way everywhere."""

    made: dict[str, Json] = field(default_factory=dict)

    unfit: list[str] = field(default_factory=list)
    """Patterns that no value was made for."""

    _names: dict[tuple[str, str], str] = field(default_factory=dict)
    """Names by what they were made of and how they are drawn."""
    _numbers: Counter[str] = field(default_factory=Counter)

    def hole(self, name: str, drawn: Json) -> str:
        """The hole of a value that is drawn in this way, named after a parameter."""
        base = re.sub(r"[^A-Za-z0-9_]+", "_", name[:LONGEST_NAME]).strip("_") or "value"
        base = base if base[0].isalpha() and base != TARGET else f"v_{base}"
        known = (base, json.dumps(drawn, sort_keys=True))
        while known not in self._names:
            self._numbers[base] += 1
            number = self._numbers[base]
            key = base if number == 1 else f"{base}_{number}"
            if key not in self.made:
                self.made[key] = drawn
                self._names[known] = key
        return f"{{{self._names[known]}}}"


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
    """What an operation is made of, while its parameters and its body are read."""

    path: str = ""
    fields: list[str] = field(default_factory=list)
    """Of the query, encoded, for what its table cannot say."""
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: list[str] = field(default_factory=list)


@dataclass
class _Import:
    """A document and what becomes of it."""

    document: Document
    values: _Values = field(default_factory=_Values)
    left_out: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    served: dict[str, Server] = field(default_factory=dict)
    """Operations by name, and where they are served."""


def from_openapi(file: Path, name: str) -> Imported:
    """Reads an OpenAPI document; raises UsageError when it is none or has no operation."""
    given = _Import(Document(file))
    operations = _operations(given)
    if not operations:
        raise UsageError(f"{file} has no operation. Its `paths` must have at least one method each.")
    text = _loadable(given, name, operations)
    document, values = given.document, given.values
    if document.content.get("security") or "securitySchemes" in table(document.content.get("components")):
        given.left_out.append("credentials: add them as headers of the operations")
    if document.is_cut:
        given.doubts.append("schemas with very many parts: values and bodies made of them are not complete")
    unfit = dict.fromkeys(values.unfit)
    given.doubts += [f"a value must match {pattern!r}, and none was made: `granite` stands there" for pattern in unfit]
    deleting = [key for key, operation in operations.items() if operation.get("method") == "DELETE"]
    if deleting:
        given.doubts.append(f"what deletes, and may it? {', '.join(deleting)}"[:500])
    target = _target(given, list(operations))
    return Imported(text, target, len(operations), tuple(given.left_out), tuple(given.doubts))


def _operations(given: _Import) -> dict[str, Json]:
    operations: dict[str, Json] = {}
    taken: Counter[str] = Counter()
    for path, method, operation in given.document.operations():
        if not path.startswith("/"):
            given.left_out.append(f"{path[:200]}: paths begin with /")
            continue
        if method not in METHODS:
            given.left_out.append(f"{method.upper()} {path[:200]}: no method of a workload")
            continue
        key = _name(str(operation.get("operationId") or f"{method}_{path}"), operations, taken)
        given.served[key] = server(operation["servers"])
        operations[key] = _operation(given, key, path, method, operation)
    return operations


def _loadable(given: _Import, name: str, operations: dict[str, Json]) -> str:
    """The workload's text; operations that could not be loaded are left out. Raises UsageError where none is left, or
    something else cannot be loaded.
    """
    for _ in range(ROUNDS):
        text = _write(given.document, name, operations, given.values)
        problems = _problems(text)
        if not problems:
            return text
        for place, message in problems.items():
            section, _, key = place.partition(".")
            key = key.partition(".")[0]
            if section == "operations" and operations.pop(key, None) is not None:
                given.left_out.append(f"{key}: {message[:200]}")
        if not operations:
            break
    place, message = next(iter(problems.items()))
    raise UsageError(f"{given.document.file} cannot be imported: {place}: {message[:200]}. Correct the document there.")


def _problems(text: str) -> dict[str, str]:
    """What is wrong with a workload's text, by place; of each place the first."""
    with tempfile.TemporaryDirectory(prefix="loadstone-import-") as folder:
        (Path(folder) / FILE).write_text(text, encoding="utf-8")
        try:
            load(folder)
        except StudyError as error:
            return {problem.place: problem.message for problem in reversed(error.problems)}
    return {}


def _target(given: _Import, names: list[str]) -> str:
    """Where most operations are served; doubts name the others, and variables that have no value."""
    served = {name: given.served[name] for name in names}
    counts = Counter(one.target for one in served.values())
    target = counts.most_common(1)[0][0]
    for other in [one for one in counts if one != target]:
        elsewhere = [name for name, one in served.items() if one.target == other]
        where = "a server that is not named" if other == UNKNOWN else other
        given.doubts.append(f"served by {where} instead of {target}: {_named(elsewhere)}")
    for variable in dict.fromkeys(variable for one in served.values() for variable in one.unset):
        given.doubts.append(f"`{{{variable}}}` of a server's address has no default: `{variable}` stands there")
    return target


def _named(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _name(wanted: str, taken: Mapping[str, object], numbers: Counter[str]) -> str:
    base = name_of(wanted, "operation", "op")
    while True:
        numbers[base] += 1
        name = base if numbers[base] == 1 else f"{base}_{numbers[base]}"
        if name not in taken:
            return name


def _operation(given: _Import, key: str, path: str, method: str, content: Json) -> Json:
    """An operation's table; what of it could not be taken over is left out or doubted."""
    made: Json = {"method": method.upper()} if method != "get" else {}
    parameters = [_parameter(given, one) for one in content["parameters"]]
    operation = _Operation()
    for parameter in parameters:
        _add_parameter(operation, parameter)
    at_path = {one.name: one for one in parameters if one.where == "path"}
    operation.path = _path(given, given.served[key].base, path.partition("#")[0], at_path)
    if operation.fields:
        joined = literal("&".join(operation.fields))
        operation.path += ("&" if "?" in operation.path else "?") + joined
    made["path"] = operation.path
    if operation.query:
        made["query"] = operation.query
    body = _body(given, key, method, content)
    for name, value in body.items():
        if name == "headers":
            operation.headers |= value
        else:
            made[name] = value
    if operation.cookies:
        operation.headers["Cookie"] = "; ".join(operation.cookies)
    if operation.headers:
        made["headers"] = operation.headers
    status = _status(content)
    if status != [200]:
        made["status"] = status
    return made


def _parameter(given: _Import, parameter: Json) -> _Parameter:
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
    content = table(parameter.get("content"))
    holder = {**table(next(iter(content.values()), None)), **parameter}
    known, value = _example(given.document, holder)
    if not known:
        schema = given.document.whole(holder.get("schema"))
        drawn = None if content else generator(schema)
        if drawn is not None:
            return replace(blank, hole=given.values.hole(blank.name, drawn))
        value = example(schema, given.values.unfit)
    return replace(blank, value=json.dumps(value, ensure_ascii=False, default=str) if content else value)


def _example(document: Document, holder: Json) -> tuple[bool, Any]:
    """Whether a parameter or a body has an example beside its schema, alone or by name, and the first of them."""
    if "example" in holder:
        return True, holder["example"]
    for named in table(holder.get("examples")).values():
        found = document.resolve(named)
        if "value" in found:
            return True, found["value"]
    return False, None


def _add_parameter(operation: _Operation, parameter: _Parameter) -> None:
    """Puts a parameter into the query, the headers or the cookies; those of the path are put there later."""
    name, value, hole = parameter.name, parameter.value, parameter.hole
    if parameter.where == "query":
        text = plain(value)
        is_simple = not isinstance(value, dict | list) and text.isprintable() and not parameter.allows_reserved
        if hole is not None or is_simple:
            operation.query[name] = hole or literal(text)
            return
        encode = partial(styles.encoded, is_reserved_allowed=parameter.allows_reserved)
        operation.fields += styles.query_fields(name, value, parameter.style, parameter.explode, encode)
    elif parameter.where == "header" and name.lower() not in IGNORED_HEADERS:
        operation.headers[name] = hole or literal(_one_line(styles.simple(value, parameter.explode)))
    elif parameter.where == "cookie":
        fields = styles.query_fields(name, value, parameter.style, parameter.explode, styles.encoded)
        operation.cookies += [f"{name}={hole}"] if hole else map(literal, fields)


def _one_line(text: str) -> str:
    """A header has one line and no control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _path(given: _Import, base: str, path: str, parameters: Mapping[str, _Parameter]) -> str:
    """A path with its parameters in place; those that are not declared are drawn from a single text, and doubted."""
    made = [literal(encoded(base))]
    for piece in re.split(r"(\{[^{}]*\})", path):
        name = piece[1:-1]
        if not piece.startswith("{") or not name:
            made.append(literal(encoded(piece)))
        elif name not in parameters:
            made.append(given.values.hole(name, {"kind": "choice", "values": ["1"]}))
            given.doubts.append(f"`{piece}` of {path[:200]} is not declared: `1` is sent")
        else:
            one = parameters[name]
            prefix = literal(styles.path_prefix(name, one.style))
            text = literal(styles.path_text(name, one.value, one.style, one.explode))
            made.append(text if one.hole is None else prefix + one.hole)
    return "".join(made)


def _body(given: _Import, key: str, method: str, operation: Json) -> Json:
    """What sends an operation's body: `body`, `form` or `uploads`, and `headers`; nothing where it has none, or one of
    a kind that is not sent, which is left out.
    """
    contents = table(given.document.resolve(operation.get("requestBody")).get("content"))
    if not contents:
        return {}
    kind = min(contents, key=_preference)
    made = _sent(given, kind, table(contents[kind]))
    if not made or (method in ("get", "head") and "body" not in made):
        given.left_out.append(f"the body ({kind[:100]}) of {key}")
        return {}
    return made


def _preference(kind: str) -> int:
    """JSON goes before forms, forms before all else."""
    name = kind.partition(";")[0].strip().lower()
    if re.search(r"[/+]json$", name) or name.endswith("*"):
        return 0 if name == "application/json" else 1
    return {"application/x-www-form-urlencoded": 2, "multipart/form-data": 3}.get(name, 4)


def _sent(given: _Import, kind: str, media: Json) -> Json:
    schema = given.document.whole(media.get("schema"))
    known, value = _example(given.document, media)
    sent = value if known else example(schema, given.values.unfit)
    match _preference(kind):
        case 0 | 1:
            is_json = isinstance(sent, str) and schema.get("type") != "string" and _is_json(sent)
            text = sent if is_json else json.dumps(sent, ensure_ascii=True, default=str)
            kind = "application/json" if "*" in kind else kind
        case 2 if isinstance(sent, dict):
            if all(not isinstance(one, dict | list) and plain(one).isprintable() for one in sent.values()):
                return {"form": {name: literal(plain(one)) for name, one in sent.items()}}
            text = "&".join(_form_fields(media, sent))
        case 3 if isinstance(sent, dict):
            return _in_parts(schema, sent)
        case 4 if isinstance(sent, str) and (known or kind.startswith("text/")):
            text = sent
        case _:
            return {}
    return {"body": literal(text), "headers": {"Content-Type": _one_line(kind)}}


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _form_fields(media: Json, sent: Json) -> list[str]:
    """Fields of a form that has lists: each as its encoding says, and repeated where it says nothing."""
    encodings = table(media.get("encoding"))
    fields: list[str] = []
    for name, value in sent.items():
        how = table(encodings.get(name))
        style, explode = str(how.get("style", "form")), how.get("explode")
        if isinstance(value, dict) and "style" not in how:
            value = json.dumps(value, default=str)
        explode = explode if isinstance(explode, bool) else style == "form"
        fields += styles.query_fields(name, value, style, explode, styles.encoded)
    return fields


def _in_parts(schema: Json, sent: Json) -> Json:
    """A form with files; nothing where it has no file."""
    files = [
        name
        for name, part in table(schema.get("properties")).items()
        if table(part).get("format") == "binary" or "contentMediaType" in part or "contentEncoding" in part
    ]
    if not files:
        return {}
    form = {name: literal(_one_line(plain(one))) for name, one in sent.items() if name not in files}
    uploads = {name: {"file_name": f"{name_of(name, 'file', 'f')}.bin", "bytes": UPLOAD_BYTES} for name in files}
    return {**({"form": form} if form else {}), "uploads": uploads}


def _status(operation: Json) -> list[int]:
    """The status codes that the document calls a success; all there are where it names none, or only `default`."""
    codes: set[int] = set()
    for code in table(operation.get("responses")):
        if re.fullmatch(r"[23][0-9][0-9]", code):
            codes.add(int(code))
        elif re.fullmatch(r"[23][xX]{2}", code):
            codes.update(SUCCESS[code[0]])
    is_named = any(code[:1].isdigit() for code in table(operation.get("responses")))
    usual = SUCCESS["2"] if is_named or "default" in table(operation.get("responses")) else (200,)
    return sorted(codes or usual)


def _write(document: Document, name: str, operations: Mapping[str, Json], values: _Values) -> str:
    title = _one_line(str(table(document.content.get("info")).get("title", name)))[:200]
    shares = {key: SHARES[operation.get("method", "GET")] for key, operation in operations.items()}
    about = f"{len(operations)} operations, drawn at random."
    sections: Json = {
        "workload": {"name": name, "title": title, "about": about},
        "pacing": {"kind": "think", "distribution": "exponential", "mean_s": 1.0, "cap_s": 15.0},
        "connections": {"parallel": 1},
        "headers": {"Accept-Encoding": "gzip"},
        "limits": {"good_s": 0.5, "tolerable_s": 2.0},
        **({"values": values.made} if values.made else {}),
        "mix": {"kind": "flat", "operations_per_session": 10, "shares": shares},
        **{f"operations.{key}": operation for key, operation in operations.items()},
    }
    parts = [f"[{name}]{NOTES.get(name, '')}\n{entries(content)}" for name, content in sections.items()]
    return "\n".join([ABOUT, *parts])
