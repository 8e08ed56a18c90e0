"""The catalogue of workloads: one folder each, and the reading and checking of any other."""

from loadstone.workloads.catalogue import (
    Catalogue,
    expand_suites,
    find,
    is_unchanged,
    list_shipped,
    load,
    load_with_users,
)

__all__ = ["Catalogue", "expand_suites", "find", "is_unchanged", "list_shipped", "load", "load_with_users"]
