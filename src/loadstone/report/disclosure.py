"""What every report discloses of its making: profile, versions, host, and the command that does it again."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from loadstone.model.numbers import format_rounded
from loadstone.model.records.manifest import HostFacts, ProfileRecord

SEPARATE_SETTINGS = ("mitigations", "cgroup_limits", "hardware")
"""Facts of the host that have lists of their own."""


def format_phases(profile: ProfileRecord) -> str:
    """The lengths of a profile's phases, in words."""
    return (
        f"ramp-up {format_rounded(profile.ramp_up_s)} s, warm-up {format_rounded(profile.warm_up_s)} s, steady state "
        f"{format_rounded(profile.steady_s)} s, ramp-down {format_rounded(profile.ramp_down_s)} s"
    )


def list_versions_and_host(versions: Mapping[str, str | None], host: HostFacts) -> Iterator[tuple[str, str]]:
    """Versions of the program and its parts, and what the machine is."""
    for key, version in versions.items():
        yield key, version or "unknown"
    for key, value in asdict(host).items():
        if key not in SEPARATE_SETTINGS:
            yield key.replace("_", " "), "unknown" if value is None else _text(value)


def list_notes(notes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the notes of the user, marked as unverified."""
    for name, text in notes.items():
        yield f"{name} (noted)", text


def _text(value: object) -> str:
    return ", ".join(f"{number:.2f}" for number in value) if isinstance(value, tuple) else str(value)


def format_command(argv: Sequence[str]) -> str:
    """The command that makes the same again."""
    return shlex.join(["loadstone", *argv[1:]])
