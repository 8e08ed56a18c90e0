"""Services of a tile: options of commands and `[services]` of a tile's file, each declared here once."""

from typing import Annotated

from pydantic import Field

from loadstone.model.choices import ServiceChoices
from loadstone.model.program_settings import SettingsByProgram
from loadstone.model.reading import Flag, Section
from loadstone.model.reference import Reference
from loadstone.model.service import EMBEDDED, Tuning


class TileServices(Section):
    """Services of the roles of a tile. A role that is left out has the reference server."""

    service: Annotated[
        str | None, Flag("Server of the web sites (role web). Others than embedded need --store nfs.", metavar="NAME")
    ] = Field(default=None, description="server of the web sites, in the role web")
    backend_service: Annotated[
        str | None,
        Flag("Back end that the web sites query (role infra). Others than embedded need --store nfs.", metavar="NAME"),
    ] = Field(default=None, description="back end of the web sites, in the role infra")
    app: Annotated[
        str | None,
        Flag("Server of the dealership (role app). Others than embedded need a separate database.", metavar="NAME"),
    ] = Field(default=None, description="server of the dealership, in the role app")
    database: Annotated[str | None, Flag("Database of the dealership (role db).", metavar="NAME")] = Field(
        default=None, description="database of the dealership, in the role db"
    )
    imap: Annotated[str | None, Flag("Mail server (role mail).", metavar="NAME")] = Field(
        default=None, description="mail server, in the role mail"
    )
    store: Annotated[
        str | None,
        Flag(
            "Access of the web role to downloads of the infra role: embedded (HTTP), or nfs (shared folder; bind mount "
            "on one kernel).",
            metavar="NAME",
        ),
    ] = Field(default=None, description="downloads of the infra role: `embedded` (HTTP) or `nfs` (a shared folder)")
    tuning: Annotated[
        Tuning | None,
        Flag("Settings of --service and --app: default (as distributed) or tuned (for many users).", kind=Tuning),
    ] = Field(default=None, description="settings of the servers of web sites and dealership: `default` or `tuned`")

    def merge(self, chosen: "TileServices") -> "TileServices":
        """Returns these services with those of the others that are named."""
        return self.model_copy(update=chosen.model_dump(exclude_none=True))

    def to_reference(self, settings: SettingsByProgram) -> Reference:
        """Returns the system of these services, with settings of their programs."""
        named = self.model_dump(exclude_none=True)
        choices = {name: named[name] for name in ServiceChoices.model_fields if name in named}
        return Reference(1, ServiceChoices(**choices), settings, self.app or EMBEDDED)
