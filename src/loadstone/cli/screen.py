"""The terminal: results on standard output, everything else on standard error."""

from rich.console import Console

out = Console(highlight=False)
errors = Console(stderr=True, highlight=False)

VERDICT_STYLE = {"pass": "bold green", "fail": "bold red", "invalid": "bold yellow"}
