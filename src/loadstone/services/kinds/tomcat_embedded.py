"""Tomcat alone, within a program of ours."""

from loadstone.services.tomcat import WITHIN
from loadstone.services.tomcat_alone import kind_of

KIND = kind_of("tomcat-embedded", WITHIN)
