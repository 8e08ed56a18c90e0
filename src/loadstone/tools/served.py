"""Tools that run inside the system under test: a server there starts them, and this end of a connection reads them.

The server (`services/tool_server.py`) reads one line of words, runs its one tool with them, and sends the tool's output
with its exit code at the end.
"""

from loadstone.tools.kind import ToolOutput, ToolOutputError, ToolTask

SOCAT_CLIENT = "/usr/bin/socat"
CLIENT_NEEDS = {SOCAT_CLIENT: "socat"}
EXIT_LINE = "loadstone-exit "
"""Beginning of the last line, before the exit code."""
SERVED_LETTERS = 300


def connect(task: ToolTask) -> list[str]:
    """Returns the command that carries the request to the server and prints what the tool prints."""
    return [SOCAT_CLIENT, "-", f"TCP:{task.endpoint.host}:{task.endpoint.port}"]


def read_served(printed: ToolOutput) -> ToolOutput:
    """Returns the tool's output. Raises ToolOutputError where the tool failed, or the connection ended before it."""
    if not printed.lines or not printed.lines[-1].text.startswith(EXIT_LINE):
        raise ToolOutputError("the connection to the tool ended before the tool did")
    code = printed.lines[-1].text.removeprefix(EXIT_LINE).strip()
    output = ToolOutput(printed.lines[:-1])
    if code != "0":
        raise ToolOutputError(f"the tool ended with code {code}: {output.text.strip()[-SERVED_LETTERS:]}")
    return output
