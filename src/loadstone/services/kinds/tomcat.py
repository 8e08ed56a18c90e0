"""Tomcat alone, as its package has it."""

from loadstone.services.tomcat import WHOLE
from loadstone.services.tomcat_alone import kind_of

KIND = kind_of("tomcat", WHOLE)
