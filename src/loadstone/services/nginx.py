"""A stock nginx: it serves the files that were written for a workload, from one folder."""

from loadstone.model.machine import SERVER
from loadstone.model.system import FileServer
from loadstone.services.kind import Program, ServiceSite

CONFIGURATION = "nginx.conf"
PORT = 8080
"""Where it listens on a machine of its own."""
WORKER_FILES = 16_384
"""Open files a worker may have; a connection and the file it is sent take two."""
SPOOLS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
"""What nginx would else keep in the system's folders."""


def program(site: ServiceSite, layout: FileServer) -> Program:
    """Writes the workload's files first; then in the foreground, as the user that starts it."""
    command = ["nginx", "-p", site.folder, "-e", "stderr", "-c", f"{site.folder}/{CONFIGURATION}"]
    writing = [SERVER, "fileset", layout.files, "--sessions", str(layout.sessions), f"{site.folder}/site"]
    return Program(command, {CONFIGURATION: configuration(site)}, [writing])


def configuration(site: ServiceSite) -> str:
    """The workload's files alone."""
    return http(site, f"    server {{ listen {site.listen}:{site.port} backlog=4096; root {site.folder}/site; }}\n")


def http(site: ServiceSite, servers: str) -> str:
    """The distribution's own where it matters, everything written below one folder; what is served is given."""
    folders = "".join(f"    {kind}_temp_path {site.folder}/{kind};\n" for kind in SPOOLS)
    return (
        f"daemon off;\nuser root;\npid {site.folder}/nginx.pid;\nworker_processes {site.threads};\n"
        f"worker_rlimit_nofile {WORKER_FILES};\nevents {{ worker_connections {WORKER_FILES // 2}; }}\n"
        "http {\n    default_type application/octet-stream;\n    types { text/html html; image/gif gif; }\n"
        f"    access_log off;\n    sendfile on;\n    tcp_nopush on;\n{folders}{servers}}}\n"
    )
