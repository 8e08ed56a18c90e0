"""A stock nginx as a service: it serves the files that were written for a workload, from one folder."""

from dataclasses import dataclass

from loadstone.model.machine import SERVER

CONFIGURATION = "nginx.conf"
PORT = 8080
"""Where it listens on a machine of its own."""
WORKER_FILES = 16_384
"""Open files a worker may have; a connection and the file it is sent take two."""
SPOOLS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
"""What nginx would else keep in the system's folders."""


@dataclass(frozen=True)
class Nginx:
    """How one nginx runs; all its files are below `folder`."""

    folder: str
    listen: str
    port: int
    workers: int

    @property
    def configuration(self) -> str:
        """Path of its configuration."""
        return f"{self.folder}/{CONFIGURATION}"

    @property
    def site(self) -> str:
        """Path of the files it serves."""
        return f"{self.folder}/site"

    @property
    def command(self) -> list[str]:
        """How it is started: in the foreground, as the user that starts it."""
        return ["nginx", "-p", self.folder, "-e", "stderr", "-c", self.configuration]

    def text(self) -> str:
        """The configuration: the distribution's own where it matters, everything written below one folder."""
        folders = "".join(f"    {kind}_temp_path {self.folder}/{kind};\n" for kind in SPOOLS)
        return (
            f"daemon off;\nuser root;\npid {self.folder}/nginx.pid;\nworker_processes {self.workers};\n"
            f"worker_rlimit_nofile {WORKER_FILES};\nevents {{ worker_connections {WORKER_FILES // 2}; }}\n"
            "http {\n    default_type application/octet-stream;\n    types { text/html html; image/gif gif; }\n"
            f"    access_log off;\n    sendfile on;\n    tcp_nopush on;\n{folders}"
            f"    server {{ listen {self.listen}:{self.port} backlog=4096; root {self.site}; }}\n}}\n"
        )


def fileset_command(of: str, sessions: int, folder: str) -> list[str]:
    """Writes a workload's files; says so in one line when it is done."""
    return [SERVER, "fileset", of, "--sessions", str(sessions), folder]
