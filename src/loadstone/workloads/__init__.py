"""The catalogue of workloads: one folder each, and the reading and checking of any other."""

from loadstone.workloads.catalogue import Catalogue, expanded, find, is_unchanged, load, load_with_users, shipped

__all__ = ["Catalogue", "expanded", "find", "is_unchanged", "load", "load_with_users", "shipped"]
