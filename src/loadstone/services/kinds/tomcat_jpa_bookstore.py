"""The bookstore in Java with Spring, JPA and JSP on Tomcat."""

from loadstone.model.service import ServiceRole
from loadstone.services import java, jpa
from loadstone.services.kind import Program, Site
from loadstone.services.kinds.tomcat_bookstore import BOOKSTORE_APPLICATION


def build_program(site: Site) -> Program:
    """Returns a front controller for all pages."""
    return java.build_program(site, jpa.create_application(BOOKSTORE_APPLICATION, ("Audit.java",)))


KIND = java.create_kind(ServiceRole.BOOKSTORE, build_program, jpa.JPA_NEEDS, jpa.JPA_NAME)
