"""What all tests have in common: they hold beside other load, so other load does not make their runs invalid; and those
that run beside each other do not clear up after each other.
"""

import os
import tempfile

WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
"""Of tests that run in parallel: which of them this process does."""

os.environ["LOADSTONE_FOREIGN_CPU"] = "100"
if WORKER:
    os.environ["LOADSTONE_RUNTIME_DIR"] = f"{tempfile.gettempdir()}/loadstone-test-{WORKER}"
