"""Causes and remedies of broken rules: the text behind `loadstone explain` and docs/troubleshooting.md. Pure data."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.judge.check import CHECK_TITLES
from loadstone.model.records.check import CheckId

PAGE_WIDTH = 118


@dataclass(frozen=True)
class Remedy:
    """Why a rule is broken, and what its reader can do."""

    meaning: str
    """What the rule compares, in one or two sentences."""
    cause: str
    """The usual causes, the most frequent first."""
    remedy: str
    """What to do, as an instruction."""

    @property
    def lines(self) -> tuple[str, str, str]:
        """The three parts, each with its name where it needs one."""
        return self.meaning, f"Cause: {self.cause}", f"Remedy: {self.remedy}"


REMEDIES: Mapping[CheckId, Remedy] = {
    CheckId.STEADY_STATE: Remedy(
        "The measured window must be as long as the profile says. Figures of a shorter window are not those of the "
        "declared run.",
        "Ctrl-C, a driver or a machine that died, a host that was suspended.",
        "Read the detail of the rule and driver.log in the result folder. Remove the cause and run again.",
    ),
    CheckId.GOOD_SHARE: Remedy(
        "The share of operations that were answered correctly and within the good limit. Operations without an "
        "answer when the window ended count as failed.",
        "The system cannot sustain this load, or it answers with errors.",
        "Look at the table of operations. Is one kind slow, or are all? Reduce the load, or let `loadstone search` "
        "find the largest load that passes.",
    ),
    CheckId.TOLERABLE_SHARE: Remedy(
        "The share of operations that were answered correctly and within the tolerable limit, which is longer than "
        "the good one.",
        "The same as for good operations: too much load, errors, or pauses of the system such as garbage collection.",
        "Look at the chart of response time over time. Isolated peaks point to pauses, a rising line to a queue.",
    ),
    CheckId.GOOD_SHARE_EACH: Remedy(
        "Each kind of operation must meet its own share of good answers. The rule shows the worst kind.",
        "One kind of operation needs more of the system than others, for example a search without an index.",
        "Optimize the operation that the detail names, or reduce the load.",
    ),
    CheckId.ENOUGH: Remedy(
        "A pass needs so many operations that one failure among them would still meet the limit.",
        "Too few users, or a window that is too short for their think times.",
        "Give more sessions (`--sessions`), a longer window (`--seconds`) or a longer profile (`--profile standard`).",
    ),
    CheckId.LOST_SESSIONS: Remedy(
        "Sessions that still wait for an answer when the window ends, and whose answer can no longer be tolerable.",
        "The system accepts requests and never answers them: exhausted workers, deadlocks, lost packets.",
        "Look at the server's worker and connection limits. A lower load shows whether the number of sessions matters.",
    ),
    CheckId.AUDIT_MADE: Remedy(
        "An audit compares the acknowledged entries with the entries that the server stores after the run. "
        "A workload with an audit is invalid without it.",
        "The server could not be asked: it stopped, or its audit address is not reachable.",
        "Read server.log in the result folder. The server must still run when the load ends.",
    ),
    CheckId.AUDIT_HELD: Remedy(
        "Every acknowledged entry must be stored.",
        "The system lost data that it had acknowledged: a crash without a flush, a cache that was not written back.",
        "Check the durability settings of the database. Do not use the run's rate: it includes work that was lost.",
    ),
    CheckId.AUDIT_BEYOND: Remedy(
        "The server must not store more than was acknowledged. Entries in doubt, whose answer was lost, may exist "
        "or not.",
        "A request was executed twice, for example by a proxy that retries.",
        "Look for retries between driver and database.",
    ),
    CheckId.AUDIT_HASHES: Remedy(
        "The sum of the hashes of all ids must be the same on both sides. A different sum means lost, doubled or "
        "foreign entries.",
        "Two faults that cancel in the count, or another client that writes to the same database.",
        "Make sure that nothing else writes. Then look for lost and repeated requests.",
    ),
    CheckId.DATABASE_RULES: Remedy(
        "Rules of the data that every correct execution keeps, such as stock that equals orders.",
        "Transactions that are not isolated or not atomic.",
        "Check the isolation level and the transaction boundaries of the application.",
    ),
    CheckId.VALIDATION_ERRORS: Remedy(
        "Answers that came, but were wrong: another status, title, text, length or value than declared.",
        "The application reports errors under load, a log-in failed, or the workload expects another page.",
        "Run `loadstone try` for one visit with each answer. The report has an example of each error.",
    ),
    CheckId.UNANSWERED: Remedy(
        "Operations that ended without a complete answer: refused or reset connections, timeouts, TLS failures. "
        "Limit: 0.5 %.",
        "Too few workers or a full accept queue, a firewall, a server that restarts.",
        "The kinds of error are in the detail. Compare them with the server's log of the same second.",
    ),
    CheckId.DRIVER_ERRORS: Remedy(
        "Errors of the driver itself, such as no free port or no file descriptor. They say nothing about the system.",
        "Too many connections for the driver's machine.",
        "Raise `ulimit -n` and `net.ipv4.ip_local_port_range`, or spread the load over more drivers (`--drivers`, "
        "`--fleet`).",
    ),
    CheckId.ARRIVALS_DUE: Remedy(
        "The drivers must schedule as many arrivals as the declared rate gives, apart from chance.",
        "A driver of several did not take part, or a trace ended early.",
        "Look at the list of drivers in the report. Check the length of the trace.",
    ),
    CheckId.ARRIVALS_BEGUN: Remedy(
        "Every scheduled arrival must be started. A driver that skips arrivals hides a slow system.",
        "The driver ran out of CPU time, ports or memory.",
        "Look at the rules about the driver. Use more threads, more drivers or a lower rate.",
    ),
    CheckId.MIX_DEVIATION: Remedy(
        "Each kind of operation must come as often as the declared mix and Little's law give. Limit: 1 % of all "
        "operations, wider where chance does more.",
        "Few sessions in a short window, or users that leave their path because of errors.",
        "Give more sessions or a longer profile. Correct errors of the system first.",
    ),
    CheckId.NET_DEVIATION: Remedy(
        "The total of operations must be what sessions, think time and response time give by Little's law. Limit: "
        "1.5 %.",
        "A window that is too short, or think times that are not taken.",
        "Use a longer profile. Check the pacing of a custom workload with `loadstone workloads show`.",
    ),
    CheckId.SHARES: Remedy(
        "A statistical test: may chance alone explain how often each operation came? Limit: a probability of 0.001.",
        "Users cannot reach an operation, for example because a log-in fails or a value is missing.",
        "Run `loadstone try` and look at the operation that the detail names.",
    ),
    CheckId.UNSAMPLED: Remedy(
        "Every kind of operation of the mix must occur at least once.",
        "A rare operation in a short window, or an operation that no user reaches.",
        "Use a longer profile. If the operation never comes, look at the mix and at the errors before it.",
    ),
    CheckId.LEAD: Remedy(
        "Ramp-up and warm-up must last longer than the longest operation. Otherwise long operations are missing "
        "when the window begins.",
        "A short profile with a workload that has downloads of minutes.",
        "Use the profile `standard` or `full`, or a longer `--warm-up`.",
    ),
    CheckId.PAUSE_DEVIATION: Remedy(
        "Think times must last as long as the sampled ones. Longer pauses mean less load than declared.",
        "The driver's machine was too busy to wake up in time.",
        "Stop other programs, give the driver separate cores, or use another machine for the driver.",
    ),
    CheckId.MEAN_THINK_TIME: Remedy(
        "The mean think time must be the declared one, apart from chance.",
        "Few pauses in a short window, or a workload whose paths skip pauses.",
        "Use more sessions or a longer profile.",
    ),
    CheckId.THINK_TIMES: Remedy(
        "Think times must be distributed as declared (Kolmogorov-Smirnov test).",
        "The driver's machine delays short pauses.",
        "Look at the driver's lag. Stop other programs on its machine.",
    ),
    CheckId.CYCLE_TIME: Remedy(
        "In a paced workload, operations start at declared intervals. Limit: 2 % off the drawn mean.",
        "Operations last longer than their interval, so the system does not sustain the pace.",
        "Reduce the load. If starts come too early, the fault is the driver's: report it.",
    ),
    CheckId.MIX_POINTS: Remedy(
        "In a paced workload, the share of each operation must "
        "deviate by no more than the published percentage points.",
        "Few operations, or operations that end in errors.",
        "Use a longer profile. Correct errors first.",
    ),
    CheckId.SESSION_CYCLE: Remedy(
        "The number of sessions divided by operations per second must not exceed the declared cycle.",
        "Users wait so long for answers that they ask for less than declared.",
        "Reduce the load: the system does not sustain it.",
    ),
    CheckId.COUNT: Remedy(
        "Requests besides the pages, such as pictures for each page, must stay within declared bounds.",
        "The system leaves content out, or its data set is not the declared one.",
        "Restore the data set. Compare a page of the system with the workload's declaration.",
    ),
    CheckId.ERRORS: Remedy(
        "Your own limit for operations that end in an error (`errors_pct`). Operations without an answer when the "
        "window ended count.",
        "Errors of the application, or too much load.",
        "The kinds of error are in the detail. Run `loadstone try` for one visit with each answer.",
    ),
    CheckId.PERCENTILE: Remedy(
        "Your own limit for a percentile of response times. The run is invalid where too few samples support the "
        "percentile.",
        "Too much load, or (invalid) too few operations for so high a percentile.",
        "p99.9 needs thousands of operations: use a longer profile. Otherwise reduce the load.",
    ),
    CheckId.MEAN: Remedy(
        "Your own limit for the mean response time of an operation (`mean_s`). The run is invalid without a sample.",
        "Too much load, or a few very slow operations.",
        "Compare the mean with the percentiles of the operation. Reduce the load if all of them are high.",
    ),
    CheckId.THROUGHPUT: Remedy(
        "Your own limit for correct operations per second (`throughput_per_s`).",
        "The system does not sustain the load, or the declared sessions cannot make so much load.",
        "Check sessions / (think time + response time): it must exceed the limit.",
    ),
    CheckId.WEIGHTED_PERCENTILE: Remedy(
        "The percentile of each operation, weighted by the mix. It informs and does not decide the verdict.",
        "One kind of operation is slow.",
        "Look at the operation that the detail names.",
    ),
    CheckId.DRIVER_LAG: Remedy(
        "How late the driver started operations (99th percentile). Late starts distort response times and load.",
        "The driver's machine was too busy: other programs, too many sessions for its threads, the system under "
        "test on the same cores.",
        "Stop other programs. Use more threads (`--threads`), cores of its own, another machine or several drivers.",
    ),
    CheckId.DRIVER_LAG_TAIL: Remedy(
        "The same for the 99.9th percentile: short stalls of the driver.",
        "Other programs on the driver's cores, a virtual machine whose host takes CPU time away (steal).",
        "Stop other programs. Look at steal in the host's samples.",
    ),
    CheckId.DRIVER_LAG_MAX: Remedy(
        "The latest single start. One stall is enough to distort the largest response times.",
        "The driver was stopped for a moment by the kernel, the hypervisor or a signal.",
        "Run again. If it repeats, move the driver to a quiet machine.",
    ),
    CheckId.DRIVER_GAP: Remedy(
        "The longest time in which the driver did not run although it had work.",
        "Other programs on the driver's cores, the system under test included. Also a stopped process, a suspended "
        "host, a cgroup quota on CPU.",
        "End other programs, or run the driver on cores or a host of its own. Check the CPU quota of the container "
        "or service that the driver runs in. `loadstone doctor` shows it.",
    ),
    CheckId.DRIVER_CPU: Remedy(
        "CPU use of the busiest driver thread. Near 100 % the driver is the bottleneck, not the system.",
        "Too much load for the driver's threads, or TLS handshakes for every request.",
        "Use more threads (`--threads`), more drivers (`--drivers`) or a fleet.",
    ),
    CheckId.DRIVER_CLOCKS: Remedy(
        "How far apart several drivers may have started.",
        "A slow or asymmetric network between the drivers.",
        "Use drivers in one network, or a shorter route between them.",
    ),
    CheckId.GUEST_CLOCK: Remedy(
        "Drift of the clock inside the system against the host's. A tool there times operations by it. Above the "
        "limit, only means by the host's clock are reported, and this is a note. If only the pair noticed the drift, "
        "the run is invalid. Rates are right in any case. Limit: 1 %.",
        "A busy host: the clock of a pair counts instructions, and runs slower when QEMU gets too little CPU. A "
        "failover adds its outage.",
        "For percentiles, run on a host with at least two free cores. Or use a tool that measures from outside, such "
        "as pgbench.",
    ),
    CheckId.FOREIGN_CPU: Remedy(
        "CPU of the host that other processes used, steal included. Limit: 5 %. All processes of the run are left out. "
        "These are the drivers, the system under test with its back ends and virtual machines, the secondary and "
        "agents of a pair, and Loadstone itself. If Loadstone did not start the server, it leaves out only the "
        "processes that listen at the target's ports.",
        "Any other program on the host: a build, a browser, an update, another measurement. Steal is CPU that the "
        "hypervisor gave to other guests.",
        "Find the program with `top` while no run is active, stop it and run again. Leave the processes of the run "
        "alone. Against steal, use another host. `--foreign-cpu` sets another limit, which the report discloses.",
    ),
    CheckId.SYSTEM_CPU: Remedy(
        "CPU of the system under test, in percent of what it has. Limit: `--below-cpu` of a search. For a machine of a "
        "pair it is the CPU of the primary, without agents and secondary.",
        "The load is larger than the one that the search is to find.",
        "Nothing: the search continues at a smaller load.",
    ),
    CheckId.FOREIGN_CPU_SAID: Remedy(
        "A note: other programs used some CPU, less than the limit.",
        "Background services.",
        "Nothing, unless two runs are to be compared.",
    ),
    CheckId.TCP_MEMORY: Remedy(
        "Seconds in which the driver's machine had no memory for TCP. The kernel then throttles all connections.",
        "Many connections with large buffers.",
        "Raise `net.ipv4.tcp_mem`, or spread the load over several machines.",
    ),
    CheckId.STEADY: Remedy(
        "Response time, bytes of an answer and throughput must not change by a factor of 2 within the window. "
        "A mean over such a window describes no state of the system.",
        "A cache that warms up, a queue that grows, a compiler that still optimizes, pages that shrink.",
        "Use a longer `--warm-up`. Where response time keeps growing, the load is too high.",
    ),
    CheckId.STEADY_SAID: Remedy(
        "A note: a figure changed within the window, by less than a factor of 2.",
        "The same as for a greater change.",
        "Use a longer `--warm-up` before you compare two runs.",
    ),
    CheckId.RESENT: Remedy(
        "Requests that the server took on a kept connection and never answered. "
        "The driver sends them again once, as browsers do. Limit: 0.5 %.",
        "A server or proxy that closes connections while a request arrives, or that drops requests.",
        "Raise the keep-alive timeout of the server above that of the proxy. Look for restarting workers.",
    ),
    CheckId.TRAILING: Remedy(
        "Answers that were followed by bytes which belong to no answer, for example a body behind status 204.",
        "An application that writes a body where HTTP forbids it, or a wrong Content-Length.",
        "Correct the operation that the detail names. Browsers close such connections.",
    ),
    CheckId.FURTHER_SOURCES: Remedy(
        "A note: users of a server on this host came from several loopback addresses, since no port was left on one.",
        "More than 14,000 connections at once, or many short connections.",
        "Sessions that are bound to an address may fail: use fewer connections, or a driver on another host.",
    ),
    CheckId.PRINTED_FIGURES: Remedy(
        "Some figures of a printed table follow from others, such as a rate from a total and the seconds.",
        "A mistake in the table or in its transcription.",
        "Compare the cells that the report names with the publication, correct them and import the table again.",
    ),
    CheckId.PRINTED_TIMES: Remedy(
        "A table prints 90th percentiles next to the time that they must keep.",
        "The published system did not meet its own requirement, or a cell was transcribed wrongly.",
        "Compare the cells with the publication. Do not use the score of a system that misses its requirement.",
    ),
    CheckId.PRINTED_MONITORS: Remedy(
        "A note: a processor's user, system, idle and wait time add up to all of its time, and its cores to the whole.",
        "A mistake in the published table or in its transcription, or figures of different intervals.",
        "Compare the rows that the report names with the publication. The verdict does not depend on them.",
    ),
    CheckId.UNPLACED: Remedy(
        "Users that begin part-way through their visit must be placed there first, for example by a log-in.",
        "A log-in or another step failed while users were placed, so the load is not the declared one.",
        "Run `loadstone try` and look at the steps that the detail names.",
    ),
    CheckId.CONDITIONAL_ASKED: Remedy(
        "The share of the declared conditional requests that users sent. A note: the others asked for the whole file.",
        "A server without `Last-Modified`, whose files browsers cannot ask for conditionally.",
        "State `Last-Modified` for these files, or compare with servers that state none either.",
    ),
    CheckId.CONDITIONAL_HONOURED: Remedy(
        "The share of conditional requests that were answered by 304. A note: a server may send the whole file.",
        "A server that ignores `If-Modified-Since`.",
        "Nothing, unless bytes are to be compared with published figures.",
    ),
    CheckId.ACCEPTED_LATE: Remedy(
        "Connections that the kernel had to request again, at least one second later. A note.",
        "The listener's queue was full, or packets were lost.",
        "Raise the server's backlog and `net.core.somaxconn`.",
    ),
    CheckId.PARTS_DIED: Remedy(
        "No part of a tile run may die or be ended before the window ends.",
        "A service or a machine crashed, often for lack of memory.",
        "Read the log that the detail names. Check memory with `loadstone tiles check`.",
    ),
    CheckId.POWER_SAMPLES: Remedy(
        "Each power meter must be read about once per second. Fewer samples give no reliable mean.",
        "A slow or lost connection to the meter.",
        "Run the meter's command manually. It must answer within a second.",
    ),
    CheckId.WINDOWS_APART: Remedy(
        "The loads of all tiles must be measured in the same window.",
        "A busy host that started some drivers late.",
        "Use fewer tiles or more cores for the drivers.",
    ),
    CheckId.HOST_BUSY: Remedy(
        "A note: the host had no idle CPU, drivers included.",
        "The load fills the host. Response times then depend on the scheduler.",
        "Nothing, if the peak is wanted. Otherwise move the drivers to another machine.",
    ),
    CheckId.QUALITY_UNSAMPLED: Remedy(
        "Each role of a tile needs at least one operation in the window. A role without operations counts as 0.",
        "A short window, or a role that does not answer.",
        "Use a longer profile, or look at the role that the detail names.",
    ),
    CheckId.NOT_AT_FULL_LOAD: Remedy(
        "All sessions must be active when the window begins.",
        "A ramp-up that is too short for the host.",
        "Use a longer profile.",
    ),
}
"""Text of each rule that a verdict may name."""


def get_title(rule: CheckId) -> str:
    """Title of a rule; its id in words where the title depends on what it is about."""
    return CHECK_TITLES.get(rule, rule.replace("_", " "))


def format_heading(rule: CheckId) -> str:
    """Returns the title of a rule as a heading."""
    title = get_title(rule)
    return f"{title[:1].upper()}{title[1:]}"


def render_markdown_page() -> str:
    """docs/troubleshooting.md: every rule with its meaning, cause and remedy."""
    parts = [_INTRODUCTION]
    for rule, remedy in REMEDIES.items():
        paragraphs = (
            f"**{format_heading(rule)}.** {remedy.meaning}",
            *(_emphasize(text) for text in remedy.lines[1:]),
        )
        parts += [f"## {rule}", *(textwrap.fill(text, PAGE_WIDTH, break_on_hyphens=False) for text in paragraphs)]
    return "\n\n".join(parts) + "\n"


def _emphasize(text: str) -> str:
    name, _, sentences = text.partition(": ")
    return f"*{name}:* {sentences}"


_INTRODUCTION = """\
# Troubleshooting: the rules of a verdict

A verdict is *pass*, *fail* (the system exceeded a limit) or *invalid* (the measurement cannot be trusted). It names
each broken rule with figure and limit. `loadstone explain latest` prints the sections below for the newest result.
`loadstone explain RULE` prints one of them. This page is written by `loadstone explain --page`."""
