"""Seeds of what belongs together: each is hashed from the one above it, so that no two draw the same users. Pure."""

import hashlib

FIRST = 1
"""Number of the iteration that has the run's own seed: a run of one iteration is what its seed says."""


def derived(seed: int, purpose: str, number: int) -> int:
    """The seed, 0 to 2^63 - 1, of the `number`th of its kind below another."""
    digest = hashlib.sha256(f"{seed}/{purpose}/{number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def seed_of_iteration(seed: int, iteration: int) -> int:
    """Of an iteration of a run, counted from 1."""
    return seed if iteration == FIRST else derived(seed, "iteration", iteration)


def seed_of_run(seed: int, number: int) -> int:
    """Of a run of a study. Runs that are to have the same users have the same number."""
    return derived(seed, "run", number)


def seed_of_tile(seed: int, number: int) -> int:
    """Of a tile of a run."""
    return derived(seed, "tile", number)
