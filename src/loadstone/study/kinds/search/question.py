"""`search`: its question. Pure."""

from loadstone.study.kind import StudyContext
from loadstone.study.kinds.search.section import SearchSection
from loadstone.study.search.question import Search
from loadstone.study.search.section import make_search


def make(section: SearchSection, context: StudyContext) -> Search:
    """The question about one workload."""
    return make_search(section, context.workload.name, context.profile)
