"""A platform: everything the rest of the program knows of it, declared in one module below `kinds/`. Pure.

Adding one is adding that module: its name, what can be said of its machines, and what makes them.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from loadstone.model.machine import MachineSpec
from loadstone.model.reading import Section

if TYPE_CHECKING:
    from loadstone.platforms.contract import Platform

EVERY = frozenset({"platform", "count", "cpus", "host"})
"""What can be said of a machine of any platform."""
OWN_LINES = frozenset({"memory", "mbit_per_s", "lines"})
"""Of machines with lines and memory of their own."""
SEVERAL_LINES = OWN_LINES | {"public_networks"}
"""Of those that may have several lines to users."""

OwnSettings = TypeVar("OwnSettings", bound=Section)


@dataclass(frozen=True)
class PlatformKind:
    """One platform."""

    name: str
    title: str
    """What one of its machines is, as people say it."""
    plural: str
    maker: "Platform"
    """What makes its machines."""
    fitting: frozenset[str] = frozenset()
    """Settings of `MachineSpec` that its machines have, beside those that all have."""
    settings_section: type[Section] = field(default=Section)
    """Settings that are its own; those that several platforms have are alike in all of them."""
    installs: bool = False
    """Whether it makes images with a distribution's packages."""
    shares_host: bool = False
    """Whether its machines have all of the host that nobody takes from them: no size but the cores they keep to."""
    keeps_cores: bool = True
    """Whether what it starts stays on the cores that were given to the run: its machines are children of the lab."""
    rank: int = 100
    """Place among the platforms where they are listed, the smallest first."""

    @property
    def settings(self) -> frozenset[str]:
        """All that can be said of its machines."""
        return EVERY | self.fitting | frozenset(self.settings_section.model_fields)


def get_own_settings(machine: MachineSpec, kind: type[OwnSettings]) -> OwnSettings:
    """A machine's own settings of one kind; the usual ones where none were declared."""
    names = kind.model_fields.keys() & dict(machine).keys()
    return kind.model_validate({name: getattr(machine, name) for name in names})
