"""fio in its machine, on a file of its own that is written before the first request."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services import tool_server
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.unprivileged import build_shell_command

FIO = "/usr/bin/fio"
FILE_MIB = 256
RANDOM_MIB = 4
"""Random bytes that the file repeats: an emulated machine makes few a second, and no request is as long."""
FIO_REQUEST = ("mode", "block", "threads", "lead", "steady")
CLOCK_LINE = 'echo && echo "uptime $(cut -d " " -f 1 /proc/uptime)"'
"""Prints the machine's clock on a line of its own: progress ends without one."""
FIO_COMMAND = (
    f"{FIO} --name=loadstone --filename=data --size={FILE_MIB}M "
    '--rw="$mode" --bs="$block" --direct=1 --ioengine=psync --iodepth=1 --thread --numjobs="$threads" '
    '--group_reporting --time_based --runtime="$steady" --ramp_time="$lead" --norandommap '
    "--eta=always --eta-newline=1 --output-format=json+ --output=report"
)
"""Threads with one request each, past the page cache; a line of progress each second, and one report."""
FIO_SCRIPT = f"( {CLOCK_LINE}; {FIO_COMMAND}; code=$?; {CLOCK_LINE}; cat report; exit $code )"


def make_program(site: Site) -> Program:
    """Runs fio for each request."""
    copies = f"for part in $(seq {FILE_MIB // RANDOM_MIB}); do cat random; done > data"
    filling = build_shell_command(
        f'mkdir -p "$0" && cd "$0" && head -c {RANDOM_MIB}M /dev/urandom > random && {copies} && sync data'
    )
    return tool_server.serve_tool(
        site, FIO_REQUEST, FIO_SCRIPT, prepare=[[*filling, site.folder]], version=[FIO, "--version"]
    )


KIND = ServiceKind(
    EMBEDDED,
    ServiceRole.FIO,
    make_program,
    tool_server.TOOL_PORT,
    needs={FIO: "fio", **tool_server.SERVER_NEEDS},
    memory_mib=512,
)
