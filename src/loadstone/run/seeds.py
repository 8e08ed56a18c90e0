"""Seeds of what belongs together: each is hashed from the one above it, so that no two draw the same users. Pure."""

import hashlib

FIRST_SEED = 1
"""Number of the iteration that has the run's own seed: a run of one iteration is what its seed says."""


def derive_seed(seed: int, purpose: str, number: int) -> int:
    """The seed, 0 to 2^63 - 1, of the `number`th of its kind below another."""
    digest = hashlib.sha256(f"{seed}/{purpose}/{number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def derive_iteration_seed(seed: int, iteration: int) -> int:
    """Derives the seed of an iteration of a run, counted from 1."""
    return seed if iteration == FIRST_SEED else derive_seed(seed, "iteration", iteration)


def derive_run_seed(seed: int, number: int) -> int:
    """Derives the seed of a run of a study. Runs with the same users have the same number."""
    return derive_seed(seed, "run", number)


def derive_tile_seed(seed: int, number: int) -> int:
    """Derives the seed of a tile of a run."""
    return derive_seed(seed, "tile", number)
