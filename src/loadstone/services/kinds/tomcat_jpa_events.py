"""The site of events in Java with Spring, JPA and JSP on Tomcat."""

from loadstone.model.service import ServiceRole
from loadstone.services import java, jpa
from loadstone.services.kind import Program, Site
from loadstone.services.kinds.tomcat_events import EVENTS_NEEDS, create_application

SHARED_SOURCES = tuple(
    f"{name}.java" for name in ("Additions", "Cache", "EventsAudit", "EventsJson", "Geocoder", "Pictures", "Seat")
)
"""Sources of the plain servlet for what the two are not compared by."""


def build_program(site: Site) -> Program:
    """Returns a front controller for all pages. It calls store, geocoder and cache as the plain servlet does."""
    return java.build_program(site, jpa.create_application(create_application(site), SHARED_SOURCES))


KIND = java.create_kind(ServiceRole.EVENTS, build_program, {**EVENTS_NEEDS, **jpa.JPA_NEEDS}, jpa.JPA_NAME)
