"""Where things are that tests read."""

import json
from pathlib import Path

PROJECT = Path(__file__).parents[1]
"""The repository."""
DATA = PROJECT / "tests" / "data"
PLAN_SCHEMA = json.loads((PROJECT / "schemas" / "plan.json").read_text())
EVENTS_SCHEMA = json.loads((PROJECT / "schemas" / "events.json").read_text())
