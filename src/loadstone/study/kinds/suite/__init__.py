"""`suite`: a web server's sizing tests. What does each server give by each of its mechanisms, over TLS, as tuned, with
more cores? Pure.
"""

from loadstone.study.kind import StudyKind
from loadstone.study.kinds.suite.answer import SuiteAnswer
from loadstone.study.kinds.suite.page import render_blocks
from loadstone.study.kinds.suite.question import make
from loadstone.study.kinds.suite.section import SuiteSection

KIND = StudyKind(
    name="suite",
    question="What does each server give by each of its mechanisms?",
    help="""Run sizing tests of web servers: files, modules, CGI, PHP, servlets, TLS, by tuning and cores.

    [bold]loadstone suite webserver[/] tests nginx, Apache and Tomcat on one core; clients without think time are
    doubled until a server is saturated. [bold]--profile brief --doublings 0[/] is its quick form.
    """,
    section=SuiteSection,
    answer=SuiteAnswer,
    make=make,
    blocks=render_blocks,
    instead_of_load="Use --clients and --doublings for the number of clients.",
    learns_from_invalid=True,
    decides={"service": "--server", "mechanism": "the workload's name"},
    rank=7,
)
