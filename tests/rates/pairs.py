"""Pairs that are cut, killed and made whole many times."""

import asyncio
from pathlib import Path

from benches.boundaries import cut_often

from tests.rates.contract import Rate

CUTS_A_TRIAL = 10


def cut_at_any_event(trial: int, folder: Path) -> None:
    """Leaves survivors at drawn places of the log; each goes on from there."""
    cuts = asyncio.run(cut_often(seed=5 + trial, count=CUTS_A_TRIAL, folder=folder))
    assert len(cuts) == CUTS_A_TRIAL and all(cut.went_on for cut in cuts), cuts


RATES = (
    Rate(
        "pair-cuts", f"A survivor goes on from any event of the log: {CUTS_A_TRIAL} cuts a trial", 20, cut_at_any_event
    ),
)
