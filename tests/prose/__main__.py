"""`python -m tests.prose`: lists sentences that are not plain, and exceptions without need; exits with 1 if any."""

import sys

from tests.prose.check import allowances, findings, sentences, without, words


def main() -> int:
    """Returns the exit code."""
    allowed = allowances()
    broken, idle = without(findings(sentences(), words()), allowed)
    for finding in broken:
        print(finding)
    for allowance in idle:
        print(f"exception without need: {allowance.file}: {allowance.part}")
    print(f"{len(broken)} findings; {len(allowed)} exceptions")
    return 1 if broken or idle else 0


if __name__ == "__main__":
    sys.exit(main())
