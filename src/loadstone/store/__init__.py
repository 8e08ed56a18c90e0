"""The result folder: schema version, writing, reading, catalogue."""

SCHEMA = 1
"""Version of the result folder's layout."""
