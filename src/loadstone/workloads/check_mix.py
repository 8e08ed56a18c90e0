"""Checking a workload's mix: its states, the rows of a matrix, and what users do in a sequence. Pure."""

from collections.abc import Iterable

from loadstone.model.reading import Document, suggest
from loadstone.model.workload import Workload
from loadstone.model.workload.mix import END, Mix, MixKind, State
from loadstone.workloads.templates import check_texts, list_holes, list_known_names

ROW_SLACK = 1e-9
"""A row of the matrix may pass 1 by this much, for probabilities that binary fractions cannot hold."""


def check_mix(workload: Workload, document: Document) -> None:
    """Notes every problem of one mix."""
    mix, states = workload.mix, workload.list_states()
    known, values = {*workload.operations, *mix.states}, list_known_names(workload)
    all_operations = set(document.content.get("operations", {}))
    for name, state in states.items():
        if name not in mix.states and name not in all_operations:
            document.note_problem(_place_of(workload, name), f"unknown state `{name}`", suggest(name, known | {END}))
        _check_state(workload, document, name, state, all_operations, values)
    {MixKind.MATRIX: _check_matrix, MixKind.FLAT: _check_flat, MixKind.SEQUENCE: _check_sequence}[mix.kind](
        workload, document
    )


def _place_of(workload: Workload, state: str) -> tuple[str, ...]:
    """Where a state is named: in a matrix its own row, or the first row that leads to it."""
    mix = workload.mix
    if mix.kind is MixKind.MATRIX:
        rows = [state] if state in mix.from_ else [name for name, row in mix.from_.items() if state in row]
        return (*workload.mix_section, "from", *rows[:1])
    return (*workload.mix_section, "shares" if mix.kind is MixKind.FLAT else "sequence")


def _check_state(
    workload: Workload, document: Document, name: str, state: State, operations: set[str], values: set[str]
) -> None:
    if name in workload.mix.states and state.operation not in operations:
        message = f"state `{name}` has the unknown operation `{state.operation}`"
        document.note_problem((*workload.mix_section, "states", name), message, suggest(state.operation, operations))
    path = (*workload.mix_section, "states", name)
    check_texts(document, path, (*state.set.values(), *state.when), values)
    if workload.mix.kind is not MixKind.SEQUENCE and (state.when or state.repeat > 1):
        field = "when" if state.when else "repeat"
        document.note_problem(
            (*path, field), f"`{field}` is valid only in sequences", "Use probabilities in the matrix."
        )
    for text in state.when:
        _check_condition(workload, document, (*path, "when"), text)


def _check_condition(workload: Workload, document: Document, path: tuple[str, ...], text: str) -> None:
    """It is asked before anything is drawn for the operation."""
    named = list_holes(text)
    if not named:
        document.note_problem(path, f"`{text}` is constant", "Name a value, such as {basket}.")
    for value in (workload.values.get(name.partition(".")[0]) for name in named):
        if getattr(value, "redraw", "session") != "session":
            message = f"`{text}` is generated before every operation"
            document.note_problem(path, message, 'Use redraw = "session", or an extracted value.')


def _check_matrix(workload: Workload, document: Document) -> None:
    mix, states = workload.mix, workload.list_states()
    declared = {*mix.states, *document.content.get("operations", {})}
    if mix.start is None or mix.start not in states:
        problem = "start is missing" if mix.start is None else f"start names the unknown state `{mix.start}`"
        document.note_problem((*workload.mix_section, "start"), problem, f"Name one of {', '.join(sorted(states))}.")
    for name in states:
        row = mix.from_.get(name)
        if row is None and name not in declared:
            continue  # already named as unknown
        if row is None:
            message = f"state `{name}` can be reached but has no row"
            document.note_problem(
                (*workload.mix_section, "from"), message, f"Add `{name} = {{ ... }}`; {{ end = 1.0 }} ends the session."
            )
        elif sum(row.values()) > 1 + ROW_SLACK:
            message = f"the row sums to {sum(row.values()):.6g}"
            document.note_problem(
                (*workload.mix_section, "from", name),
                message,
                "Rows may sum to 1 at most; the rest of the users leave.",
            )

    endless = sorted(_endless(mix, states))
    if endless and len(endless) < len(mix.from_):
        remedy = "Add `end` to a row, or let a row sum to less than 1. Without either in all rows, sessions never end."
        document.note_problem((*workload.mix_section, "from"), f"no session ends from {', '.join(endless)}", remedy)


def _endless(mix: Mix, states: Iterable[str]) -> set[str]:
    """States from which a session can never end."""
    ending = {name for name, row in mix.from_.items() if row.get(END) or sum(row.values()) < 1 - ROW_SLACK}
    while True:
        more = {name for name, row in mix.from_.items() if any(row[to] > 0 and to in ending for to in row)} - ending
        if not more:
            return {name for name in states if name in mix.from_} - ending
        ending |= more


def _check_flat(workload: Workload, document: Document) -> None:
    if not workload.mix.shares:
        document.note_problem(
            (*workload.mix_section, "shares"), "a flat mix needs shares", "Add shares = { state = 1, ... }."
        )


def _check_sequence(workload: Workload, document: Document) -> None:
    if not workload.mix.sequence:
        document.note_problem(
            (*workload.mix_section, "sequence"), "a sequence needs its states", 'Add sequence = ["first", "second"].'
        )
    elif workload.list_states()[workload.mix.sequence[0]].when:
        message = "the first of a sequence always comes"
        place = (*workload.mix_section, "states", workload.mix.sequence[0], "when")
        document.note_problem(place, message, "Begin with what every user does.")
