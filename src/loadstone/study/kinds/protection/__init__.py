"""`protection`: what does the protection of a pair cost? Pure."""

from loadstone.study.kind import StudyKind
from loadstone.study.kinds.protection.answer import ProtectionAnswer
from loadstone.study.kinds.protection.page import build_blocks, build_overview
from loadstone.study.kinds.protection.question import make
from loadstone.study.kinds.protection.section import ProtectionSection

KIND = StudyKind(
    name="protection",
    question="What does protection cost?",
    help="""Measure what the protection of a pair costs: each workload without and with it.

    [bold]loadstone protection support --sessions 20[/] compares one workload;
    [bold]loadstone protection --quick[/] plays the suite in short runs.
    """,
    section=ProtectionSection,
    answer=ProtectionAnswer,
    make=make,
    blocks=build_blocks,
    overview=build_overview,
    workloads=(
        *("request-response", "iperf3", "iperf3:send", "fio", "fio:write-2k", "fio:read-64k", "fio:write-64k"),
        *("order-entry", "dvd-store", "pgbench", "sysbench", "warehouses", "compile"),
    ),
    in_short={"compile": "compile:part"},
    rank=6,
)
