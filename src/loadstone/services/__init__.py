"""One server program in one role: how it is called and what it says when it is ready. Knows no platform."""

from loadstone.services.programs import driver, server

__all__ = ["driver", "server"]
