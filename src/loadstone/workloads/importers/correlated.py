"""Values of a visit that recur in later requests, with where they come from and where they go."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from loadstone.workloads.importers.rules import Rule
from loadstone.workloads.importers.steps import Leaf
from loadstone.workloads.importers.tokens import is_token

MOST_VALUES_NAMED = 3
"""Operations that are named of many."""
Why = Literal[
    "one use", "client-made", "chosen from a list", "typed data", "unknown", "earlier message", "first recording alone"
]


@dataclass(frozen=True)
class Correlated:
    """A value that is of its visit alone, and what became of it."""

    operation: str
    leaf: Leaf
    value: str = ""
    """Name of the value that stands in its place; empty where none was found."""
    source: str = ""
    """The operation whose answer it is taken from."""
    rule: Rule | None = None
    recordings: int = 1
    """In how many the rule finds it."""
    why: Why = "unknown"
    """What it is held for, where no rule was found."""
    differs: bool = False
    """Whether it is another in the second recording."""
    text: str = ""
    """What stands there instead, values as `{name}`: a value alone, or one within other letters."""
    generator: tuple[tuple[str, str], ...] = ()
    """How the workload draws the value, which no answer tells, as [values] declares it. A password has none here: the
    name of its variable follows the name of the workload.
    """

    @property
    def is_time(self) -> bool:
        """Whether it is the moment of sending."""
        return ("kind", "now") in self.generator

    @property
    def is_password(self) -> bool:
        """Whether it is taken from the environment."""
        return bool(self.value) and self.rule is None and not self.generator


@dataclass(frozen=True)
class Place:
    """The same leaf of several operations, and what became of it in all of them."""

    correlated: Correlated
    """Of the first."""
    operations: tuple[str, ...]

    def __str__(self) -> str:
        """For people: the first few of many are enough."""
        more = len(self.operations) - MOST_VALUES_NAMED
        names = ", ".join(self.operations[: MOST_VALUES_NAMED if more > 1 else None])
        return f"{self.correlated.leaf} of {names}{f' and {more} more' if more > 1 else ''}"

    @property
    def missed(self) -> str:
        """That no rule was found, for people."""
        if self.correlated.why == "earlier message":
            remedy = "only the last message of a WebSocket exchange can be used: split the exchange"
            return f"{self} comes from a message before the last ({remedy}, or use your own value)"
        return f"{self} occurs in no earlier response ({self.correlated.why}): use your own value"


def group_places(values: Sequence[Correlated]) -> list[Place]:
    """Values of a visit, those together that stand in the same leaf and are found the same way."""
    operations: dict[Correlated, list[str]] = {}
    for value in values:
        operations.setdefault(replace(value, operation=""), []).append(value.operation)
    return [Place(value, tuple(names)) for value, names in operations.items()]


@dataclass
class Correlation:
    """All of a visit."""

    values: list[Correlated] = field(default_factory=list)
    passwords: Mapping[str, str] = field(default_factory=dict)
    """Recorded passwords with the names of the values that stand in their place."""

    @cached_property
    def _texts(self) -> Mapping[tuple[str, Leaf], str]:
        return {(value.operation, value.leaf): value.text for value in reversed(self.values) if value.value}

    @cached_property
    def _missing(self) -> frozenset[tuple[str, Leaf]]:
        return frozenset((value.operation, value.leaf) for value in self.values if not value.value)

    def is_made_anew(self, operation: str, leaf: Leaf, value: str) -> bool:
        """Whether a header holds a random text that no answer tells, as the number by which a request is traced."""
        return (operation, leaf) in self._missing and leaf.kind == "header" and is_token(leaf.key, value)

    def declare_generators(self) -> dict[str, dict[str, str]]:
        """Values that are drawn, by name, as workloads declare them."""
        return {value.value: dict(value.generator) for value in self.values if value.generator}

    def without(self, values: frozenset[str]) -> "Correlation":
        """The same without the values of these names."""
        return Correlation([value for value in self.values if value.value not in values], self.passwords)

    def fill_leaf(self, operation: str, leaf: Leaf) -> str | None:
        """Writes what replaces a recorded leaf, with values as `{name}`; None where nothing does."""
        return self._texts.get((operation, leaf))

    def declare_extracts(self, operation: str) -> list[dict[str, str]]:
        """Declares what is taken from an operation's answer."""
        return [{"value": name, **dict(rule.how)} for name, rule in self._rules.get(operation, {}).items()]

    @cached_property
    def _rules(self) -> Mapping[str, Mapping[str, Rule]]:
        """Rules by the operation whose answer they look at and by the name of their value."""
        rules: dict[str, dict[str, Rule]] = {}
        for value in self.values:
            if value.rule is not None:
                rules.setdefault(value.source, {})[value.value] = value.rule
        return rules
