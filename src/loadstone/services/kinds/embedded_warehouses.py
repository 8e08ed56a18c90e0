"""The business kernel in Java, compiled in its machine: one thread for each warehouse, everything in memory."""

from importlib.resources import files

from loadstone.model.service import EMBEDDED, ServiceRole
from loadstone.services import tool_server
from loadstone.services.kind import Program, ServiceKind, Site

JAVA_PROGRAM, JAVA_COMPILER = "/usr/bin/java", "/usr/bin/javac"
COMPILER_OPTIONS = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-proc:none")
"""Let the compiler end sooner: it does not run long enough to optimize itself."""
KERNEL_SOURCES, KERNEL_CLASSES = "warehouses", "classes"
KERNEL_REQUEST = ("warehouses", "lead", "steady")
HEAP = "192m"
"""Fixed, so that the collector works alike in every run."""
KERNEL_SCRIPT = f'{JAVA_PROGRAM} -Xms{HEAP} -Xmx{HEAP} -cp {KERNEL_CLASSES} Warehouses "$warehouses" "$lead" "$steady"'


def make_program(site: Site) -> Program:
    """Runs the kernel for each request."""
    folder = files("loadstone.suts").joinpath("java", "warehouses")
    texts = {
        f"{KERNEL_SOURCES}/{file.name}": file.read_text() for file in folder.iterdir() if file.name.endswith(".java")
    }
    sources = [f"{site.folder}/{name}" for name in sorted(texts)]
    compiling = [JAVA_COMPILER, *COMPILER_OPTIONS, "-d", f"{site.folder}/{KERNEL_CLASSES}", *sources]
    return tool_server.serve_tool(
        site, KERNEL_REQUEST, KERNEL_SCRIPT, prepare=[compiling], files=texts, version=[JAVA_PROGRAM, "--version"]
    )


KIND = ServiceKind(
    EMBEDDED,
    ServiceRole.WAREHOUSES,
    make_program,
    tool_server.TOOL_PORT,
    needs={JAVA_COMPILER: "openjdk-17-jdk-headless", **tool_server.SERVER_NEEDS},
    memory_mib=512,
)
