"""Which services the lab starts: each choice is declared here, once.

From a field follow the option of the command line, the key of `[server]` in a study file, the parameter of a sweep,
what is refused, and what a result discloses.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from loadstone.model.reading import Flag, Section
from loadstone.model.service import EMBEDDED, Mechanism, Tuning

NONE = ""
"""The name of no service."""


@dataclass(frozen=True)
class ServiceChoice:
    """What a field chooses. Topologies declare which applications have it, and the roles whose services it names."""

    about: str
    """The thing that is chosen, with its article, as the subject of an error."""
    further: tuple[str, ...] = ()
    """Other values: the name of no service, of what an application has within itself, or of a setting."""


class ServiceChoices(Section):
    """Which services stand for the roles of an application, and their settings."""

    service: Annotated[
        str,
        Flag("Service that users access.", metavar="NAME"),
        ServiceChoice("A service"),
    ] = Field(default=EMBEDDED, serialization_alias="web", description="the service that users reach")
    tuning: Annotated[
        Tuning,
        Flag("Settings of --service: default (as distributed) or tuned (for many users).", kind=Tuning),
        ServiceChoice("A tuning", tuple(Tuning)),
    ] = Field(default=Tuning.DEFAULT, description="the settings of that service: `default` or `tuned`")
    mechanism: Annotated[
        Mechanism | None,
        Flag("How the web server generates responses. Default: the first mechanism that it supports.", kind=Mechanism),
        ServiceChoice("A mechanism", tuple(Mechanism)),
    ] = Field(default=None, description="how a web server makes its answers")
    backend_service: Annotated[
        str,
        Flag("Back end that web sites query for page data.", metavar="NAME"),
        ServiceChoice("A back end"),
    ] = Field(
        default=EMBEDDED, serialization_alias="backend", description="the back end that web sites query for page data"
    )
    database: Annotated[
        str,
        Flag("Database of dealership, bookstore and events.", metavar="NAME"),
        ServiceChoice("A database"),
    ] = Field(default=EMBEDDED, description="the database of dealership, bookstore and events")
    balancer: Annotated[
        str,
        Flag(
            "Load balancer in front of several machines of web sites, bookstore or events. Default: the driver "
            "balances.",
            metavar="NAME",
        ),
        ServiceChoice("A load balancer", (NONE,)),
    ] = Field(default=NONE, description="the load balancer in front of several machines; none: the driver balances")
    cache: Annotated[
        str,
        Flag("Response cache of the events site. Default: none.", metavar="NAME"),
        ServiceChoice("A cache", (NONE, EMBEDDED)),
    ] = Field(default=NONE, description="the response cache of the events site")
    store: Annotated[
        str,
        Flag(
            "Picture store of the events site: embedded (HTTP), or nfs (shared folder; bind mounts "
            "if its servers run on this host's kernel).",
            metavar="NAME",
        ),
        ServiceChoice("A store"),
    ] = Field(default=EMBEDDED, description="the picture store of the events site: `embedded` or `nfs`")

    imap: Annotated[
        str,
        Flag("Mail server of the mail workload.", metavar="NAME"),
        ServiceChoice("A mail server"),
    ] = Field(default=EMBEDDED, description="the mail server of the mail workload")

    def list_changed(self) -> dict[str, object]:
        """The choices that are other than usual, by the names of the fields."""
        usual = ServiceChoices()
        return {name: value for name, value in self if value != getattr(usual, name)}

    def disclose(self) -> dict[str, str | None]:
        """All choices as results keep them; `web` and `backend` are the older names of two."""
        return self.model_dump(mode="json", by_alias=True)


CHOICES = {
    name: next(part for part in info.metadata if isinstance(part, ServiceChoice))
    for name, info in ServiceChoices.model_fields.items()
}
"""What each field chooses among, by its name."""
