"""The driver's example programs: bare loops that show the least that a client or a server can do."""

import os
import subprocess
from pathlib import Path

from loadstone.host import programs

ROOT = Path(__file__).parents[1]


def find_example(name: str) -> Path:
    """Returns a program of the driver's examples; builds it where it is missing."""
    program = Path(programs.find_driver()).parent / "examples" / name
    if not program.exists():
        command = ["cargo", "build", "--release", "--quiet", "-p", "loadstone-driver", "--example", name]
        subprocess.run(command, check=True, cwd=ROOT)
        program = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / name
    return program
