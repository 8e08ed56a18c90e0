"""Tomcat alone, as its package has it."""

from loadstone.services.tomcat import PACKAGED
from loadstone.services.tomcat_alone import kind_of

KIND = kind_of("tomcat", PACKAGED)
