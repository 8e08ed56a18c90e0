"""A server that runs one tool in its machine for each connection, with the words of the connection's first line.

It serves one connection at a time. Words have letters, digits, dots and hyphens only, so that nobody who reaches the
port can run another command.
"""

from collections.abc import Mapping, Sequence

from loadstone.services.kind import Program, Site
from loadstone.services.listening import wait_until_listening
from loadstone.services.unprivileged import build_shell_command

SOCAT_SERVER = "/usr/bin/socat"
TOOL_PORT = 5202
SCRIPT = "tool.sh"
SERVER_NEEDS = {SOCAT_SERVER: "socat"}


def serve_tool(
    site: Site,
    names: Sequence[str],
    tool: str,
    prepare: Sequence[list[str]] = (),
    files: Mapping[str, str] | None = None,
    version: Sequence[str] = (),
) -> Program:
    """Serves a tool: a command of the shell that finds the words of a request in variables of these names."""
    listen = f"TCP-LISTEN:{site.port},bind={site.listen},reuseaddr,fork,max-children=1"
    command = f'cd "$1" && exec {SOCAT_SERVER} {listen} EXEC:"sh {SCRIPT}"'
    return Program(
        [*build_shell_command(command), "tool-server", site.folder],
        files={SCRIPT: build_script(names, tool), **(files or {})},
        prepare=prepare,
        wait=wait_until_listening(site.port),
        version=list(version),
    )


def build_script(names: Sequence[str], tool: str) -> str:
    """Returns the script that reads a request and runs the tool."""
    return f"""read -r {" ".join(names)} || exit 0
case "{"".join(f"${name}" for name in names)}" in
    *[!A-Za-z0-9.-]*) echo "the request has other letters than A-Z, a-z, 0-9, dot and hyphen"; exit 2 ;;
esac
{tool} 2>&1
echo "loadstone-exit $?"
"""
