"""fio in its machine, on files of its own that are written before the first request."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services import tool_server
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.unprivileged import build_shell_command

FIO = "/usr/bin/fio"
FILES, FILE_KIB = 200, 1280
"""A file for each of the published threads, 250 MiB in all. In one file, writes of less than a block of the file system
would wait for the lock of that file, and not for the disk. All files have the same random bytes: an emulated machine
makes few a second.
"""
FIO_REQUEST = ("mode", "block", "threads", "lead", "steady")
CLOCK_LINE = 'echo && echo "uptime $(cut -d " " -f 1 /proc/uptime)"'
"""Prints the machine's clock on a line of its own: progress ends without one."""
FIO_COMMAND = (
    f"{FIO} --name=loadstone '--filename_format=data.$jobnum' --size={FILE_KIB}k "
    '--rw="$mode" --bs="$block" --direct=1 --ioengine=psync --iodepth=1 --thread --numjobs="$threads" '
    '--group_reporting --time_based --runtime="$steady" --ramp_time="$lead" --norandommap '
    "--eta=always --eta-newline=1 --output-format=json+ --output=report"
)
"""Threads with one request each, past the page cache; a line of progress each second, and one report."""
FIO_SCRIPT = f"( {CLOCK_LINE}; {FIO_COMMAND}; code=$?; {CLOCK_LINE}; cat report; exit $code )"


def make_program(site: Site) -> Program:
    """Runs fio for each request."""
    copies = f"for number in $(seq {FILES - 1}); do cat data.0 > data.$number; done"
    filling = build_shell_command(
        f'mkdir -p "$0" && cd "$0" && head -c {FILE_KIB}K /dev/urandom > data.0 && {copies} && sync'
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
