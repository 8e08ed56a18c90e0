"""The servers that the lab starts: the reference servers, or those that are chosen in their places."""

from dataclasses import dataclass, field

from loadstone.model.choices import ServiceChoices
from loadstone.model.program_settings import SettingsByProgram, write_settings_of_programs
from loadstone.model.service import EMBEDDED


@dataclass(frozen=True)
class Reference:
    """The reference servers, with what stands behind them."""

    threads: int
    services: ServiceChoices = field(default_factory=ServiceChoices)
    settings: SettingsByProgram = field(default_factory=dict)
    """What the user changed of programs; the services that run them check it."""
    app: str = EMBEDDED
    """Service of the dealership in tiles, whose web sites have a service of their own."""

    def get_service(self, choice: str) -> str:
        """Returns the service that a choice names: the embedded one without a choice, the empty name for none."""
        if not choice:
            return EMBEDDED
        return str({"app": self.app, **dict(self.services)}[choice])

    def disclose(self) -> dict[str, str | int | None]:
        """Returns the settings of the system in the form that results store."""
        changed = {"set": write_settings_of_programs(self.settings)} if self.settings else {}
        return {"threads": self.threads, **self.services.disclose(), **changed}
