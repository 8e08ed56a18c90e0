"""Pairs that are cut, killed and made whole many times."""

import asyncio
from pathlib import Path

from benches.boundaries import cut_often
from benches.failovers import chain
from benches.protections import protect_often

from tests.rates.contract import Rate
from tests.vm.agent_faults import Faults, play_trials, sample_faults
from tests.vm.agents import Network

CUTS_A_TRIAL = 10
KILLS_A_TRIAL = 3
PROTECTIONS_A_TRIAL = 3
MOST_SILENT_S = 0.1
"""Longest time without an answer that clients may see."""
FAULTS_A_TRIAL = 20
"""Pairs of real agents without QEMU."""


def cut_at_any_event(trial: int, folder: Path) -> None:
    """Leaves survivors at drawn places of the log; each goes on from there."""
    cuts = asyncio.run(cut_often(seed=5 + trial, count=CUTS_A_TRIAL, folder=folder))
    assert len(cuts) == CUTS_A_TRIAL and all(cut.went_on for cut in cuts), cuts


def kill_primary_after_primary(trial: int, folder: Path) -> None:
    """Kills primaries at drawn times, each once the machine is protected again; what was acknowledged is there."""
    trials = asyncio.run(chain(1 + trial, KILLS_A_TRIAL, folder))
    assert len(trials) == KILLS_A_TRIAL and all(one.survived and one.writes > 10 for one in trials), trials


def protect_anew_unnoticed(trial: int, folder: Path) -> None:
    """Protects a machine anew under a client, which waits hardly longer than usual."""
    protections = asyncio.run(protect_often(300 + trial, PROTECTIONS_A_TRIAL, folder))
    assert not any(protection.errors for protection in protections), protections
    assert all(protection.silence_s < MOST_SILENT_S for protection in protections), protections


def survive_single_faults(trial: int, folder: Path) -> None:
    """Lets a fault befall each of some pairs; one machine of each runs on."""
    _survive(sample_faults(FAULTS_A_TRIAL, 1, seed=100 + trial), folder)


def survive_double_faults(trial: int, folder: Path) -> None:
    """Lets two faults within a second befall each of some pairs; at most one machine of each runs on."""
    _survive(sample_faults(FAULTS_A_TRIAL, 2, seed=200 + trial), folder)


def _survive(trials: list[Faults], folder: Path) -> None:
    network = Network()
    try:
        wrong = play_trials(network, folder, trials)
    finally:
        network.close()
    assert not wrong, "\n\n".join(wrong)


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
    Rate(
        "pair-protections",
        f"A client waits less than {MOST_SILENT_S} s while a pair is protected again: {PROTECTIONS_A_TRIAL} a trial",
        20,
        protect_anew_unnoticed,
    ),
    Rate(
        "pair-single-faults",
        f"One machine of a pair runs on after a fault, and nothing is lost: {FAULTS_A_TRIAL} pairs a trial",
        10,
        survive_single_faults,
    ),
    Rate(
        "pair-double-faults",
        f"At most one machine of a pair runs on after two faults, and nothing is lost: {FAULTS_A_TRIAL} pairs a trial",
        10,
        survive_double_faults,
    ),
)
