"""Compiles the mathematical library of Debian's source package of uClibc-ng, which is configured beforehand."""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services import tool_server
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.unprivileged import build_shell_command

SOURCE_ARCHIVE = "/usr/src/uClibc-ng-1.0.35.tar.xz"
COMPILE_REQUEST = ("runs", "jobs")
OBJECTS = "$(ls libm/*.c | sed 's/c$/o/')"
"""159 files."""
BUILD = f'make -s -j "$jobs" ARCH=x86_64 {OBJECTS} > ../make.log 2>&1 || {{ cat ../make.log; exit 1; }}'
COMPILE_SCRIPT = (
    f'( cd source && for run in $(seq "$runs"); do rm -f libm/*.o && sync && echo begin && {BUILD}; echo end; done )'
)
UNPACKING = f'mkdir -p "$0/source" "$0/headers" && cd "$0/source" && tar -x -f {SOURCE_ARCHIVE} --strip-components=1'
HEADERS = 'ln -s /usr/include/linux /usr/include/asm-generic "/usr/include/$(gcc -print-multiarch)/asm" ../headers/'
"""A C library is compiled against the kernel's headers alone."""
COMPILE_SETTINGS = 's|^KERNEL_HEADERS=.*|KERNEL_HEADERS="../headers"|; s/^HAVE_SHARED=y/# HAVE_SHARED is not set/'
CONFIGURE = (
    f"make -s ARCH=x86_64 defconfig && sed -i '{COMPILE_SETTINGS}' .config && (yes '' | make -s ARCH=x86_64 oldconfig) "
    "&& make -s ARCH=x86_64 pregen headers"
)


def make_program(site: Site) -> Program:
    """Compiles as often as each request says."""
    logged = f"({CONFIGURE}) > ../configure.log 2>&1 || {{ tail ../configure.log >&2; exit 1; }}"
    configuring = [*build_shell_command(f"{UNPACKING} && {HEADERS} && {logged}"), site.folder]
    return tool_server.serve_tool(
        site, COMPILE_REQUEST, COMPILE_SCRIPT, prepare=[configuring], version=["gcc", "--version"]
    )


KIND = ServiceKind(
    EMBEDDED,
    ServiceRole.COMPILE,
    make_program,
    tool_server.TOOL_PORT,
    needs={
        SOURCE_ARCHIVE: "uclibc-source",
        "/usr/bin/gcc": "gcc",
        "/usr/bin/make": "make",
        "/usr/bin/xz": "xz-utils",
        "/usr/include/stdio.h": "libc6-dev",
        **tool_server.SERVER_NEEDS,
    },
    memory_mib=512,
)
