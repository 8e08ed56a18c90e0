"""The type of a command: main reads the options into one, and then executes it."""

from abc import ABC, abstractmethod

from loadstone.cli.exits import Exit


class Command(ABC):
    """What a command line asks for, with all its options read."""

    @abstractmethod
    def execute(self) -> Exit:
        """Does it; returns the exit code. Raises LoadstoneError."""
