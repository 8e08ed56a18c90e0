"""`search`: how it is declared. Pure."""

from loadstone.study.search.section import SearchOptions


class SearchSection(SearchOptions):
    """`[search]`: the largest load that passes every rule."""
