"""What a host stores of its part of a pair, for the next coordinator: one document, next to those of its sides."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from loadstone.fleet.contract import FleetError
from loadstone.host.runtime import RUNTIME_PREFIX, find_runtime_folder
from loadstone.platforms.fabric import NetworkInterface, WideNetwork
from loadstone.platforms.journal import is_locked
from loadstone.platforms.pair.record import PairDocument, ProcessRecord

HALF_RECORD = "half.json"
HALF_FOLDER_ENDING = "-half"


class HalfRecord(PairDocument):
    """One host's part of one pair."""

    network: WideNetwork
    log_address: str = ""
    carry_address: str = ""
    """Addresses of this host for the log and for copies; empty for its public one."""
    lease_s: int = 0
    """Seconds that it lives on without a coordinator."""
    witness: str = ""
    """HOST:PORT of who decides which side continues; empty before it is known."""
    witness_process: ProcessRecord | None = None
    """None on a host without the witness."""
    machine: dict[str, Any] | None = None
    """The machine as it is declared; None on a host without a side."""
    nic: NetworkInterface | None = None
    """The machine's line on this host."""


def locate_half(above: Path, pair: str) -> Path:
    """The folder of a pair's files on this host, below that of a journal."""
    return above / f"{pair}{HALF_FOLDER_ENDING}"


def list_kept_pairs() -> list[str]:
    """Names of the pairs of which a part lives on this host without a coordinator."""
    return sorted(path.parent.name.removesuffix(HALF_FOLDER_ENDING) for path in _list_records("*"))


def find_half(pair: str) -> tuple[Path, HalfRecord]:
    """The journal's folder, and the document, of a part that lives on this host. Raises FleetError where none does."""
    for path in _list_records(pair):
        try:
            return path.parent.parent, HalfRecord.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            continue  # it is just ended
    raise FleetError(f"No part of the pair {pair} lives on this host. It has ended, or its lease is over.")


def _list_records(pair: str) -> list[Path]:
    pattern = f"{RUNTIME_PREFIX}*/{pair}{HALF_FOLDER_ENDING}/{HALF_RECORD}"
    return [path for path in find_runtime_folder().glob(pattern) if is_locked(path.parent.parent)]
