"""Tomcat alone, within a program of ours."""

from loadstone.services.tomcat import EMBEDDED_JARS
from loadstone.services.tomcat_alone import kind_of

KIND = kind_of("tomcat-embedded", EMBEDDED_JARS)
