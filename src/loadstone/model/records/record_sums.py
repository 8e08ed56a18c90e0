"""What follows from the driver's records: sums and rates that their fields give. Records inherit them."""

from collections.abc import Mapping, Sequence

LEAST_DIVISOR_S = 1e-3
"""An interval is never divided by less than this."""


class OperationSums:
    """Of counts of operations."""

    requests: int
    errors: Mapping[str, int]

    @property
    def error_count(self) -> int:
        """Errors of all kinds."""
        return sum(self.errors.values())

    @property
    def answered(self) -> int:
        """Right answers."""
        return self.requests - self.error_count


class DriverCpu:
    """Of the shares of cores that the driver's threads used."""

    threads: Sequence[float]

    @property
    def busiest(self) -> float:
        """The largest of them."""
        return max(self.threads, default=0.0)


class IntervalSums:
    """Of an interval."""

    at_s: float
    length_s: float
    operations: Sequence[OperationSums]

    @property
    def divisor_s(self) -> float:
        """Its length for rates, never 0."""
        return max(LEAST_DIVISOR_S, self.length_s)

    @property
    def middle_s(self) -> float:
        """Its middle, in seconds from the start of the run."""
        return self.at_s - self.length_s / 2

    @property
    def requests(self) -> int:
        """Operations of all kinds."""
        return sum(counts.requests for counts in self.operations)

    @property
    def error_count(self) -> int:
        """Errors of all operations and kinds."""
        return sum(counts.error_count for counts in self.operations)

    @property
    def answered_per_s(self) -> float:
        """Right answers a second."""
        return sum(counts.answered for counts in self.operations) / self.divisor_s


class TroubleText:
    """Of an error that the driver describes."""

    operation: str
    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.operation}: {self.kind}: {self.detail}"


class CycleShift:
    """Of an operation in virtual time."""

    cycle_drawn_s: float
    cycle_actual_s: float

    @property
    def cycle_off_pct(self) -> float | None:
        """How far its cycles are from what was drawn; None where starts are not paced."""
        return 100 * (self.cycle_actual_s / self.cycle_drawn_s - 1) if self.cycle_drawn_s else None
