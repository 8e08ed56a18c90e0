"""Tomcat alone, within a program of ours."""

from loadstone.services.tomcat import EMBEDDED_JARS
from loadstone.services.tomcat_alone import build_kind

KIND = build_kind("tomcat-embedded", EMBEDDED_JARS)
