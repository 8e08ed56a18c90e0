"""Pairs that are cut, killed and made whole many times."""

import asyncio
from pathlib import Path

from benches.boundaries import cut_often
from benches.failovers import chain

from tests.rates.contract import Rate

CUTS_A_TRIAL = 10
KILLS_A_TRIAL = 3


def cut_at_any_event(trial: int, folder: Path) -> None:
    """Leaves survivors at drawn places of the log; each goes on from there."""
    cuts = asyncio.run(cut_often(seed=5 + trial, count=CUTS_A_TRIAL, folder=folder))
    assert len(cuts) == CUTS_A_TRIAL and all(cut.went_on for cut in cuts), cuts


def kill_primary_after_primary(trial: int, folder: Path) -> None:
    """Kills primaries at drawn times, each once the machine is protected anew; what was acknowledged is there."""
    trials = asyncio.run(chain(1 + trial, KILLS_A_TRIAL, folder))
    assert len(trials) == KILLS_A_TRIAL and all(one.survived and one.writes > 10 for one in trials), trials


RATES = (
    Rate(
        "pair-kills",
        f"Connections and acknowledged writes survive killed primaries: {KILLS_A_TRIAL} a trial",
        20,
        kill_primary_after_primary,
    ),
    Rate(
        "pair-cuts",
        f"A survivor continues from any event of the log: {CUTS_A_TRIAL} cuts a trial",
        20,
        cut_at_any_event,
    ),
)
