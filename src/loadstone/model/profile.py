"""Profiles: how long the phases of a run are, how often it is repeated, and what its verdict may claim."""

from dataclasses import dataclass, replace
from enum import StrEnum

from loadstone.model.errors import UsageError

SECOND = 1_000_000_000


class Rigor(StrEnum):
    """What a profile's verdict may claim."""

    FULL = "full"
    """Every rule is judged; a pass is a compliant one."""
    REDUCED = "reduced"
    """Rules that the length of the run cannot support are named and not judged; never compliant."""


@dataclass(frozen=True)
class Phases:
    """Lengths in seconds."""

    ramp_up_s: float
    warm_up_s: float
    steady_s: float
    ramp_down_s: float

    @property
    def lead_s(self) -> float:
        """From the start to the steady state."""
        return self.ramp_up_s + self.warm_up_s

    @property
    def total_s(self) -> float:
        """Seconds of one iteration."""
        return self.ramp_up_s + self.warm_up_s + self.steady_s + self.ramp_down_s


@dataclass(frozen=True)
class Profile:
    """A named way to run."""

    name: str
    about: str
    phases: Phases
    iterations: int
    rigor: Rigor

    def with_phases(self, **seconds: float | None) -> "Profile":
        """The profile with some phases of another length; it is then no longer the full one."""
        changes = {key: value for key, value in seconds.items() if value is not None}
        if not changes:
            return self
        phases = replace(self.phases, **changes)
        if phases == self.phases:
            return self
        return replace(self, name=f"{self.name} (changed)", phases=phases, rigor=Rigor.REDUCED)

    def with_iterations(self, iterations: int) -> "Profile":
        """The profile with another number of iterations."""
        if iterations == self.iterations:
            return self
        return replace(self, name=f"{self.name} x {iterations}", iterations=iterations, rigor=Rigor.REDUCED)


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            "full",
            "three iterations of 30 minutes: the published phases (docs/web-workloads.md, Limits and validity)",
            # Thread ramp-up 180 s, warm-up 300 s, run 1800 s, ramp-down 300 s, 3 iterations.
            Phases(180, 300, 1800, 300),
            3,
            Rigor.FULL,
        ),
        Profile(
            "standard",
            "about 15 minutes; ramp-up and warm-up still exceed the longest download (377.5 s)",
            Phases(90, 300, 480, 30),
            1,
            Rigor.REDUCED,
        ),
        Profile("quick", "about a minute, for a look", Phases(10, 10, 35, 5), 1, Rigor.REDUCED),
        Profile("brief", "some seconds, for studies of many runs", Phases(0.5, 1.5, 5, 0.5), 1, Rigor.REDUCED),
        Profile("demo", "a quarter of a minute, to see everything once", Phases(2, 2, 9, 1), 1, Rigor.REDUCED),
    )
}


def find_profile(name: str) -> Profile:
    """A profile by name; raises UsageError."""
    if name not in PROFILES:
        about = "; ".join(f"{profile.name}: {profile.about}" for profile in PROFILES.values())
        raise UsageError(f"`{name}` is not a known profile. Use {about}.")
    return PROFILES[name]
