"""Imports an OpenAPI document (version 3, JSON or YAML) as a custom workload.

Parameters and bodies come from the document's examples. Where there are none, they come from its schemas: whole numbers
and choices as values that are drawn, texts as a word. The document does not say how often each operation is used:
reads come ten times as often as writes, and a hundred times as often as deletions.
"""

import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from loadstone.model.errors import StudyError, UsageError
from loadstone.workloads.catalogue import FILE, load
from loadstone.workloads.importers.imported import Imported
from loadstone.workloads.importers.openapi import OPENAPI_METHODS, Json, OpenApiDocument, copy_table
from loadstone.workloads.importers.openapi_requests import DrawnValues, ImportState, clean_line, request_of
from loadstone.workloads.importers.openapi_servers import UNKNOWN, choose_server
from loadstone.workloads.writing import name_of, write_entries

METHOD_SHARES = {"GET": 100, "HEAD": 100, "POST": 10, "PUT": 10, "PATCH": 10, "DELETE": 1}
"""How often operations are drawn, by method."""
ROUNDS = 5
"""How often what cannot be loaded is left out before the import gives up."""
OPENAPI_ABOUT = """\
# Imported from an OpenAPI document. It does not say how often each operation is used, nor in
# what order: edit the mix, and the values, which must name things that exist.
"""
NOTES = {"limits": "  # what is good enough for you?"}
MOST_NAME = 60
"""Letters that are shown of a name."""
MOST_OPERATIONS_NAMED = 10
"""Operations that a line names."""


def from_openapi(file: Path, name: str) -> Imported:
    """Reads an OpenAPI document; raises UsageError when it is none or has no operation."""
    state = ImportState(OpenApiDocument(file))
    operations = _operations(state)
    if not operations:
        raise UsageError(f"{file} has no operation. Its `paths` must have at least one method each.")
    text = _loadable(state, name, operations)
    document, values = state.document, state.values
    state.left_out += _credentials(document)
    if document.is_cut:
        state.doubts.append("very large schemas are truncated: their values and bodies are incomplete")
    unfit = dict.fromkeys(values.unfit)
    state.doubts += [f"a value must match {pattern!r}; none was found, so `granite` is sent" for pattern in unfit]
    deleting = [key for key, operation in operations.items() if operation.get("method") == "DELETE"]
    if deleting:
        state.doubts.append(f"operations that delete, which the target must permit: {_named(deleting)}")
    target = _target(state, list(operations))
    return Imported(text, target, len(operations), tuple(state.left_out), tuple(state.doubts))


def _credentials(document: OpenApiDocument) -> list[str]:
    """Where each way to authenticate wants its credentials, which the document does not contain."""
    schemes = copy_table(copy_table(document.content.get("components")).get("securitySchemes"))
    if not schemes and document.content.get("security"):
        return ["credentials: add them as headers of the operations"]
    places = ((name, _place(copy_table(scheme))) for name, scheme in schemes.items())
    return [f"credentials of {str(name)[:MOST_NAME]}: add {place}" for name, place in places]


def _place(scheme: Json) -> str:
    """Where a way to authenticate wants its credentials: a key anywhere, all others in one header."""
    if scheme.get("type") == "mutualTLS":
        return "the certificate of a client with --cert and --key"
    if scheme.get("type") != "apiKey":
        return "the header `Authorization` to the operations"
    name = clean_line(str(scheme.get("name", "")))[:MOST_NAME]
    kinds = {"query": f"`{name}` to the query", "cookie": f"the cookie `{name}` to the headers"}
    return f"{kinds.get(str(scheme.get('in')), f'the header `{name}`')} of the operations"


def _operations(state: ImportState) -> dict[str, Json]:
    operations: dict[str, Json] = {}
    taken: Counter[str] = Counter()
    for path, method, operation in state.document.list_operations():
        if not path.startswith("/"):
            state.left_out.append(f"{path[:200]}: paths begin with /")
            continue
        if method not in OPENAPI_METHODS:
            state.left_out.append(f"{method.upper()} {path[:200]}: workloads do not support this method")
            continue
        key = _name(str(operation.get("operationId") or f"{method}_{path}"), operations, taken)
        state.served[key] = choose_server(operation["servers"])
        operations[key] = request_of(state, key, path, method, operation)
    return operations


def _loadable(state: ImportState, name: str, operations: dict[str, Json]) -> str:
    """The workload's text; operations that could not be loaded are left out. Raises UsageError where none is left, or
    something else cannot be loaded.
    """
    for _ in range(ROUNDS):
        text = _write(state.document, name, operations, state.values)
        problems = _problems(text)
        if not problems:
            return text
        for place, message in problems.items():
            section, _, key = place.partition(".")
            key = key.partition(".")[0]
            if section == "operations" and operations.pop(key, None) is not None:
                state.left_out.append(f"{key}: {message[:200]}")
        if not operations:
            break
    place, message = next(iter(problems.items()))
    raise UsageError(f"{state.document.file} cannot be imported: {place}: {message[:200]}. Correct the document there.")


def _problems(text: str) -> dict[str, str]:
    """What is wrong with a workload's text, by place; of each place the first."""
    with tempfile.TemporaryDirectory(prefix="loadstone-import-") as folder:
        (Path(folder) / FILE).write_text(text, encoding="utf-8")
        try:
            load(folder)
        except StudyError as error:
            return {problem.place: problem.message for problem in reversed(error.problems)}
    return {}


def _target(state: ImportState, names: list[str]) -> str:
    """Where most operations are served; doubts name the others, and variables that have no value."""
    served = {name: state.served[name] for name in names}
    counts = Counter(place.target for place in served.values())
    target = counts.most_common(1)[0][0]
    for rare in [place for place in counts if place != target]:
        elsewhere = [name for name, place in served.items() if place.target == rare]
        where = "a server that is not named" if rare == UNKNOWN else rare
        state.doubts.append(f"served by {where} instead of {target}: {_named(elsewhere)}")
    for variable in dict.fromkeys(variable for place in served.values() for variable in place.unset):
        state.doubts.append(f"`{{{variable}}}` of a server's address has no default: `{variable}` is used")
    return target


def _named(names: list[str]) -> str:
    more = f" and {len(names) - MOST_OPERATIONS_NAMED} more" if len(names) > MOST_OPERATIONS_NAMED else ""
    return ", ".join(names[:MOST_OPERATIONS_NAMED]) + more


def _name(wanted: str, taken: Mapping[str, object], numbers: Counter[str]) -> str:
    base = name_of(wanted, "operation", "op")
    while True:
        numbers[base] += 1
        name = base if numbers[base] == 1 else f"{base}_{numbers[base]}"
        if name not in taken:
            return name


def _write(document: OpenApiDocument, name: str, operations: Mapping[str, Json], values: DrawnValues) -> str:
    title = clean_line(str(copy_table(document.content.get("info")).get("title", name)))[:200]
    shares = {key: METHOD_SHARES[operation.get("method", "GET")] for key, operation in operations.items()}
    about = f"{len(operations)} operations, drawn at random."
    sections: Json = {
        "workload": {"name": name, "title": title, "about": about},
        "pacing": {"kind": "think", "distribution": "exponential", "mean_s": 1.0, "cap_s": 15.0},
        "connections": {"parallel": 1},
        "headers": {"Accept-Encoding": "gzip"},
        "limits": {"good_s": 0.5, "tolerable_s": 2.0},
        **({"values": values.generators} if values.generators else {}),
        "mix": {"kind": "flat", "operations_per_session": 10, "shares": shares},
        **{f"operations.{key}": operation for key, operation in operations.items()},
    }
    parts = [f"[{name}]{NOTES.get(name, '')}\n{write_entries(content)}" for name, content in sections.items()]
    return "\n".join([OPENAPI_ABOUT, *parts])
