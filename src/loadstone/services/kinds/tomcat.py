"""Tomcat alone, as its package has it."""

from loadstone.services.tomcat import PACKAGED
from loadstone.services.tomcat_alone import build_kind

KIND = build_kind("tomcat", PACKAGED)
