"""What a web server's maker published of its own sizing tests (Sun Java System Web Server 7, sizing guide, chapter 6).

It is here for its shape alone: the machine was another, and so was the year. Pure.
"""

from dataclasses import dataclass

from loadstone.model.service import Mechanism


@dataclass(frozen=True)
class PublishedTest:
    """One table: operations/s and mean response time in ms with 2, 4 and 6 cores (for some of them deduced: the rows
    grow as those whose cores are printed).
    """

    table: str
    throughput: tuple[float, float, float]
    response_ms: tuple[float, float, float]

    @property
    def efficiency(self) -> float:
        """Throughput of three times the cores, by three times that of the fewest."""
        return self.throughput[2] / (3 * self.throughput[0])

    @property
    def clients(self) -> tuple[float, ...]:
        """Throughput times response time: by Little's law how many clients waited at once."""
        return tuple(rate * ms / 1000 for rate, ms in zip(self.throughput, self.response_ms, strict=True))


PUBLISHED_TESTS = {
    (Mechanism.STATIC, False): PublishedTest("6-4", (10365, 19729, 27649), (184, 199, 201)),
    (Mechanism.SERVLET, False): PublishedTest("6-6", (5287, 10492, 15579), (19, 19, 19)),
    (Mechanism.C_CGI, False): PublishedTest("6-8", (892, 1681, 2320), (112, 119, 129)),
    (Mechanism.PERL_CGI, False): PublishedTest("6-10", (322, 611, 873), (310, 327, 343)),
    (Mechanism.MODULE, False): PublishedTest("6-11", (6264, 12520, 18417), (14, 15, 16)),
    (Mechanism.PHP_FASTCGI, False): PublishedTest("6-13", (876, 1706, 2475), (114, 117, 121)),
    (Mechanism.PHP_MODULE, False): PublishedTest("6-15", (950, 1846, 2600), (105, 108, 115)),
    (Mechanism.STATIC, True): PublishedTest("6-16", (2284, 4538, 6799), (379, 387, 387)),
    (Mechanism.PERL_CGI, True): PublishedTest("6-17", (303, 580, 830), (329, 344, 361)),
    (Mechanism.C_CGI, True): PublishedTest("6-18", (792, 1499, 2127), (126, 133, 141)),
    (Mechanism.MODULE, True): PublishedTest("6-19", (2729, 5508, 7982), (29, 30, 32)),
}
"""By mechanism, and whether it went over TLS."""
FASTER = (
    (Mechanism.MODULE, Mechanism.C_CGI),
    (Mechanism.C_CGI, Mechanism.PERL_CGI),
    (Mechanism.PHP_MODULE, Mechanism.PHP_FASTCGI),
)
"""Pairs of mechanisms of which the first gave more there."""


def compute_published_ratio(faster: Mechanism, slower: Mechanism) -> float:
    """Throughput of one mechanism by that of another, with 6 cores, without TLS."""
    return PUBLISHED_TESTS[faster, False].throughput[2] / PUBLISHED_TESTS[slower, False].throughput[2]


def compute_published_tls_cost(mechanism: Mechanism) -> float | None:
    """Throughput without TLS by that with it, with 6 cores; None where it was not tested."""
    with_tls = PUBLISHED_TESTS.get((mechanism, True))
    return PUBLISHED_TESTS[mechanism, False].throughput[2] / with_tls.throughput[2] if with_tls else None
