"""Compiles the mathematical library of Debian's source package of uClibc-ng, with a makefile and settings of our own.

The package's own build would configure itself first, which takes an emulated machine seven minutes.
"""

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services import tool_server
from loadstone.services.kind import Program, ServiceKind, Site
from loadstone.services.unprivileged import build_shell_command

SOURCE_ARCHIVE = "/usr/src/uClibc-ng-1.0.35.tar.xz"
COMPILE_REQUEST = ("runs", "jobs", "files")
MAKEFILE, CONFIGURATION = "compile.mk", "settings/bits/uClibc_config.h"
MAKEFILE_TEXT = """\
SYSTEM = libc/sysdeps/linux
INCLUDES = ../settings include $(SYSTEM)/x86_64 $(SYSTEM)/common $(SYSTEM) .
FLAGS = -std=gnu99 -Os -fno-builtin -fno-stack-protector -w -DSTATIC -DNDEBUG -include include/libc-symbols.h
OBJECTS = $(patsubst %.c,%.o,$(wordlist 1,$(files),$(sort $(wildcard libm/*.c))))

all: $(OBJECTS)

%.o: %.c
	gcc -c $(FLAGS) $(addprefix -I,$(INCLUDES)) -o $@ $<
"""
"""Without warnings, which are many."""
CONFIGURATION_TEXT = """\
#define __UCLIBC_MAJOR__ 1
#define __UCLIBC_MINOR__ 0
#define __UCLIBC_SUBLEVEL__ 35
#define __TARGET_x86_64__ 1
#define __HAS_NO_THREADS__ 1
#define __UCLIBC_HAS_FLOATS__ 1
#define __UCLIBC_HAS_FPU__ 1
#define __UCLIBC_HAS_LFS__ 1
#define __UCLIBC_HAS_STDIO_BUFSIZ_4096__ 1
#define __UCLIBC_HAS_STDIO_BUILTIN_BUFFER_NONE__ 1
"""
"""What the package asks of every processor, and of its headers for floating point and files."""
BUILD = f'make -s -j "$jobs" -f ../{MAKEFILE} files="$files" > ../make.log 2>&1 || {{ cat ../make.log; exit 1; }}'
COMPILE_SCRIPT = (
    f'( cd source && for run in $(seq "$runs"); do rm -f libm/*.o && sync && echo begin && {BUILD}; echo end; done )'
)
PARTS = ("libm", "include", "libc/sysdeps/linux/common", "libc/sysdeps/linux/x86_64")
"""Folders that the library is compiled from."""
UNPACK = f"tar -x -f {SOURCE_ARCHIVE} --strip-components=1 {' '.join(f'uClibc-ng-1.0.35/{part}' for part in PARTS)}"
UNPACKING = f'mkdir -p "$0/source" && cd "$0/source" && {UNPACK} && sync'


def make_program(site: Site) -> Program:
    """Compiles as often as each request says."""
    return tool_server.serve_tool(
        site,
        COMPILE_REQUEST,
        COMPILE_SCRIPT,
        prepare=[[*build_shell_command(UNPACKING), site.folder]],
        files={MAKEFILE: MAKEFILE_TEXT, CONFIGURATION: CONFIGURATION_TEXT},
        version=["gcc", "--version"],
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
