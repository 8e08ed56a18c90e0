"""Loadstone: an open laboratory that measures what a platform costs."""

__version__ = "0.1.0"
