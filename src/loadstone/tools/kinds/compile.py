"""A source package that is compiled several times, each time from scratch.

It is compiled in the system under test, by this host's clock.
"""

from loadstone.model.reading import Section
from loadstone.tools.kind import Amount, ToolFigures, ToolInterval, ToolKind, ToolOutput, ToolOutputError, ToolTask
from loadstone.tools.served import CLIENT_NEEDS, connect, read_served

DEFAULT_RUNS = 5
ALL_FILES = 159
"""Files of the library, which the operation `compile` compiles; `compile N` compiles the first N."""


class CompileSettings(Section):
    """The compilation has no settings here: its clients are its jobs."""


def build_request(task: ToolTask) -> str:
    """How often, how many jobs at the same time, and how many files."""
    _, *files = task.operation.split()
    return f"{task.operations or DEFAULT_RUNS} {task.clients} {files[0] if files else ALL_FILES}"


def read_figures(task: ToolTask, output: ToolOutput) -> ToolFigures:
    """The time between each pair of lines `begin` and `end`."""
    printed = read_served(output)
    begins, ends = ([line.at_s for line in printed.lines if line.text.strip() == title] for title in ("begin", "end"))
    if not ends or len(begins) != len(ends):
        raise ToolOutputError(f"{len(begins)} compilations began, {len(ends)} ended")
    intervals = [
        ToolInterval(begin_s - begins[0], end_s - begins[0], Amount.count_times([round(1e6 * (end_s - begin_s))]))
        for begin_s, end_s in zip(begins, ends, strict=True)
    ]
    return ToolFigures("uClibc-ng 1.0.35", ends[-1] - begins[0], intervals, begins[0])


KIND = ToolKind("compile", CompileSettings, connect, read_figures, CLIENT_NEEDS, request=build_request)
