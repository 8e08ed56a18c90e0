"""`tiles`: how it is declared. Pure."""

from loadstone.study.kind import StudySection


class TilesSection(StudySection):
    """How far a search of tiles goes; it has no section in study files, since tiles have files of their own."""

    most_tiles: int = 64

    @property
    def brings_load(self) -> bool:
        """It finds it."""
        return True
