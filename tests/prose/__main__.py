"""`python -m tests.prose [--lower] [--all]`: lists sentences above the ceilings, and exceptions without need.

Ends with 1 if there are any. `--lower` writes the counts of today where they are below the ceilings; `--all` lists
sentences below the ceilings too.
"""

import argparse
import sys
from collections import Counter

from tests.prose.check import CEILINGS, above, allowances, ceilings, findings, sentences, without, words


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.prose")
    parser.add_argument("--lower", action="store_true", help="write lower counts as the new ceilings")
    parser.add_argument("--all", action="store_true", help="list sentences below the ceilings too")
    options = parser.parse_args()
    most = ceilings()
    allowed = allowances()
    broken, idle = without(findings(sentences(), words()), allowed)
    high = above(broken, most)
    for finding in broken if options.all else high:
        print(finding)
    for allowance in idle:
        print(f"exception without need: {allowance.file}: {allowance.part}")
    counts = Counter(finding.kind for finding in broken)
    print(f"{len(allowed)} exceptions; " + ", ".join(f"{rule} in {place}: {n}" for (place, rule), n in counts.items()))
    if options.lower:
        rows = [f"{place},{rule},{min(n, counts[place, rule])}\n" for (place, rule), n in sorted(most.items())]
        CEILINGS.write_text("place,rule,most\n" + "".join(row for row in rows if not row.endswith(",0\n")))
    return 1 if high or idle else 0


if __name__ == "__main__":
    sys.exit(main())
