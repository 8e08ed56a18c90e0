"""The role of the machines that users reach, whatever the system. Pure."""

from loadstone.model.system import Reference, Station, System
from loadstone.model.topology import get_topology

STATION, FRONT_FILES = "station", "web"
"""Roles of a station, and of a file server or a site that others run."""


def find_front(system: System, need: str) -> str:
    """Returns the role of the machines that users reach."""
    match system:
        case Reference():
            return get_topology(need).front.name
        case Station():
            return STATION
        case _:
            return FRONT_FILES
