"""Which values of a recorded visit a server gave out for this visit alone, and how to take them from its answers. Pure.

A request is a set of leaves: segments of its path, fields of its query and form, headers, values of its JSON and of
messages over a WebSocket. A leaf that differs between two recordings of the same steps, or looks like a token, is
looked up in the latest earlier answer that holds it; the plainest rule that finds it there, in both recordings where
there are two, is what the workload declares.
"""

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from loadstone.workloads.importers.answer_index import AnswerIndex
from loadstone.workloads.importers.answers import read_answer_text
from loadstone.workloads.importers.correlated import Correlated, Correlation, Why
from loadstone.workloads.importers.har import HarExchange
from loadstone.workloads.importers.leaves import AUTHORIZATION
from loadstone.workloads.importers.recorded_request import LEAST_PASSWORD, is_password
from loadstone.workloads.importers.rules import Rule, find_rules, list_cookie_rules, list_word_forms
from loadstone.workloads.importers.steps import Leaf, Step
from loadstone.workloads.importers.tokens import TIMES, UUID, find_moment, find_tokens, is_token, split_between
from loadstone.workloads.writing import escape_braces, name_of

LEAST_PART = 8
"""Letters of a value that is looked for within others."""
KEY_PATTERN = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)[\"']?\s*[=:>]\s*[\"']?$")
"""The name before a token within a text: of a field, of a value of JSON, or of an element."""
PART_PATTERNS = (re.compile(r"([A-Za-z0-9_.~-]+)"), re.compile(r"([A-Za-z0-9]+)"))
"""Words of a text, long ones first: two recordings show which of them is a value, however short it is."""
PASSWORD_INPUT = re.compile(r"<input\b[^<>]*\btype\s*=\s*[\"']?password\b[^<>]*>", re.IGNORECASE)
INPUT_NAME = re.compile(r"\bname\s*=\s*[\"']?([^\"'\s<>]+)", re.IGNORECASE)
OPTION = re.compile(r"<option\b[^>]*>?", re.IGNORECASE)
XML_PASSWORD = re.compile(r"<(?:\w+:)?(?:password|passwd|pwd|pass)\b[^<>]*>([^<>]+)</", re.IGNORECASE)
"""A password in a body of XML."""
SIMPLE = re.compile(r"[A-Za-z]*|[0-9]*")
"""Such a password may stand in other fields by chance."""
CREDENTIALS_VALUE = "basic_credentials"
"""Value that holds name and password as HTTP Basic sends them: `name:password` by base64."""
TOKEN_VALUE = "bearer_token"
"""Value that holds a token that no answer tells, such as the key of a program."""
LONG_PASSWORD = 8
"""Letters of a password that stands nowhere by chance."""


def correlate(steps: Sequence[Step], twin_steps: Sequence[Step], pairs: Mapping[int, int]) -> Correlation:
    """Looks all leaves of a visit up, with a second recording of the same steps where there is one; `pairs` are those
    that are the same (`aligned`).
    """
    search = _Search(steps, twin_steps, pairs)
    correlated = list(search.correlate())
    return Correlation(correlated, {**search.passwords, **search.tokens})


@dataclass
class _Search:
    """For the sources of a visit's values."""

    steps: Sequence[Step]
    twins: Sequence[Step]
    pairs: Mapping[int, int]
    names: dict[tuple[str, Rule], str] = field(default_factory=dict)
    """Of the values so far, by where they are taken from."""
    uuids: dict[str, str] = field(default_factory=dict)
    """Names of those that the page's program has made."""
    tokens: dict[str, str] = field(default_factory=dict)
    """Names of tokens that allow requests and that no answer tells."""
    known: dict[str, tuple[str | None, Correlated]] = field(default_factory=dict)
    """What was recorded of them, in the second recording too, and what was found of each."""

    @cached_property
    def visits(self) -> Mapping[str, list[HarExchange]]:
        """Answers by operation, as far as the browser kept them."""
        answers: dict[str, list[HarExchange]] = {}
        for step in self.steps:
            if not step.is_lost:
                answers.setdefault(step.operation, []).append(step.answer)
        return answers

    @cached_property
    def inputs(self) -> frozenset[str]:
        """Names of fields in which browsers hide what is typed."""
        inputs = (tag for step in self.steps for tag in PASSWORD_INPUT.findall(read_answer_text(step.answer)))
        return frozenset(named[1] for tag in inputs if (named := INPUT_NAME.search(tag)))

    def _holds_password(self, leaf: Leaf) -> bool:
        return leaf.kind not in ("path", "header") and (leaf.key in self.inputs or is_password(leaf.name))

    @cached_property
    def passwords(self) -> Mapping[str, str]:
        """Texts that were sent as passwords, with names of values."""
        sent: dict[str, None] = {}
        for step in self.steps:
            for leaf, text in step.leaves.items():
                if self._holds_password(leaf):
                    sent.setdefault(text)
            sent |= dict.fromkeys(html.unescape(text) for text in XML_PASSWORD.findall(step.body))
        passwords = [text for text in sent if len(text) >= LEAST_PASSWORD]
        basic = dict.fromkeys(step.credentials for step in self.steps if step.credentials)
        return {**dict(_numbered("password", passwords)), **dict(_numbered(CREDENTIALS_VALUE, basic))}

    def _is_password(self, leaf: Leaf, value: str) -> bool:
        """Whether a leaf holds a password, by its name or by its text."""
        if value not in self.passwords:
            return False
        if leaf.kind == "header" and self.passwords[value].startswith(CREDENTIALS_VALUE):
            return True
        return self._holds_password(leaf) or len(value) >= LONG_PASSWORD or SIMPLE.fullmatch(value) is None

    def correlate(self) -> Iterator[Correlated]:
        """Each place of a request that may be of the visit alone, once."""
        seen: set[tuple[str, Leaf]] = set()
        for number, step in enumerate(self.steps):
            for leaf, value in step.leaves.items():
                place, again = (step.operation, leaf), self._again(number, leaf)
                if place in seen:
                    continue
                generated = self._generated(step, leaf, value, again)
                if generated is None and not _is_of_the_visit(leaf, value, again):
                    yield from self._within(number, leaf)
                    continue
                seen.add(place)
                if generated is None:
                    looked_up = self._looked_up(number, leaf)
                    parts = [] if looked_up.value else self._within(number, leaf)
                    yield from parts or [self._withheld(step, looked_up, value, again)]
                elif generated.is_time and self._is_in_earlier_answer(number, value):
                    looked_up = self._looked_up(number, leaf)
                    yield generated if looked_up.rule is None else looked_up
                else:
                    yield generated

    def _generated(self, step: Step, leaf: Leaf, value: str, again: str | None) -> Correlated | None:
        """A value that no answer tells and that is not sent as it was: a password, the moment of sending, or a UUID
        that the page's program has made, which is another in each recording.
        """
        if self._is_password(leaf, value):
            name = self.passwords[value]
            return Correlated(step.operation, leaf, name, text=f"{{{name}}}")
        form, rest = find_moment(value, step.answer.start_s)
        if form:
            moment = self._drawn(step, leaf, f"now_{form}", (("kind", "now"), ("form", form)))
            return replace(moment, text=moment.text + escape_braces(rest))
        is_made = again is not None and again != value and UUID.fullmatch(value) and UUID.fullmatch(again)
        if is_made and value not in self.known and value not in self.texts:
            name = self.uuids.setdefault(value, f"uuid_{len(self.uuids) + 1}" if self.uuids else "uuid")
            redraw = "session" if self.times[value] > 1 else "operation"
            return self._drawn(step, leaf, name, (("kind", "uuid"), ("redraw", redraw)))
        return None

    def _withheld(self, step: Step, looked_up: Correlated, value: str, again: str | None) -> Correlated:
        """The same place, with a variable of the environment for a token that is good for many requests and that no
        answer tells.
        """
        is_secret = looked_up.leaf == AUTHORIZATION and step.has_lasting_token and again in (None, value)
        if looked_up.value or not is_secret:
            return looked_up
        count = len(self.tokens) + 1
        name = self.tokens.setdefault(value, f"{TOKEN_VALUE}_{count}" if self.tokens else TOKEN_VALUE)
        return Correlated(step.operation, looked_up.leaf, name, text=f"{{{name}}}")

    def _drawn(self, step: Step, leaf: Leaf, name: str, generator: tuple[tuple[str, str], ...]) -> Correlated:
        return Correlated(step.operation, leaf, name, text=f"{{{name}}}", generator=generator)

    def _is_in_earlier_answer(self, number: int, value: str) -> bool:
        """Whether an earlier answer holds a text: a moment that a server gave out is sent back as it was."""
        return any(value in read_answer_text(step.answer) for step in self.steps[:number])

    @cached_property
    def texts(self) -> str:
        """What all answers hold."""
        return "\0".join(read_answer_text(step.answer) for step in self.steps)

    @cached_property
    def times(self) -> Mapping[str, int]:
        """How often each text was sent."""
        return Counter(text for step in self.steps for text in step.leaves.values())

    @cached_property
    def options(self) -> Sequence[tuple[int, str]]:
        """Entries of lists that users choose from, by the numbers of the steps whose answers hold them."""
        by_step = ((number, OPTION.findall(read_answer_text(step.answer))) for number, step in enumerate(self.steps))
        return [(number, "\n".join(tags)) for number, tags in by_step if tags]

    def _twin(self, number: int) -> Step | None:
        """The same step of the second recording."""
        return self.twins[self.pairs[number]] if number in self.pairs else None

    def _again(self, number: int, leaf: Leaf) -> str | None:
        twin = self._twin(number)
        return twin.leaves.get(leaf) if twin is not None else None

    def _looked_up(self, number: int, leaf: Leaf) -> Correlated:
        step, again = self.steps[number], self._again(number, leaf)
        value = step.leaves[leaf]
        return (
            self._taken(number, leaf, value, again)
            or self._composed(step.operation, leaf, value, again)
            or self._with_word_taken(number, leaf, value, again)
            or Correlated(step.operation, leaf, why=self._kind_of(number, leaf, value))
        )

    def _taken(self, number: int, leaf: Leaf, value: str, again: str | None) -> Correlated | None:
        """A value, of a leaf or within it, that an earlier answer holds. None where no rule finds it."""
        step = self.steps[number]
        if value in self.known and self.known[value][0] == again:
            return replace(self.known[value][1], operation=step.operation, leaf=leaf)
        way = next(self._ways(number, value, again), None)
        if way is None:
            return None
        source, rule, recordings = way
        name = self.names.setdefault((source, rule), _new_name(leaf, step.path, self.names.values()))
        differs = again is not None and again != value
        correlated = Correlated(
            step.operation, leaf, name, source, rule, recordings, differs=differs, text=f"{{{name}}}"
        )
        self.known[value] = again, correlated
        return correlated

    def _within(self, number: int, leaf: Leaf) -> list[Correlated]:
        """Tokens within a longer text, such as XML or JSON in a field, that earlier answers tell: all have the text of
        the leaf with values in their places. Empty where there are none.
        """
        value, again = self.steps[number].leaves[leaf], self._again(number, leaf)
        tokens = find_tokens(value)
        others = tokens if again is None else find_tokens(again)
        if leaf.kind in ("path", "header") or split_between(value, tokens) != split_between(again or value, others):
            return []
        taken_values, text, end = [], "", 0
        for token, twin in zip(tokens, others, strict=True):
            second = None if again is None else twin[0]
            before = KEY_PATTERN.search(value, 0, token.start())
            named = Leaf(leaf.kind, before[1] if before else leaf.key)
            taken = None if second == token[0] else self._taken(number, named, token[0], second)
            if taken is not None:
                text += escape_braces(value[end : token.start()]) + taken.text
                end = token.end()
                taken_values.append(taken)
        text += escape_braces(value[end:])
        return [replace(place, leaf=leaf, text=text) for place in dict.fromkeys(taken_values)]

    def _composed(self, operation: str, leaf: Leaf, value: str, again: str | None) -> Correlated | None:
        """A leaf that holds a value found before, such as the address of the page before: the longest there is."""
        held = (part for part in self.known if len(part) >= LEAST_PART and part in value)
        for part in sorted(held, key=len, reverse=True):
            told_again, correlated = self.known[part]
            before, _, behind = value.partition(part)
            is_same = again is None or (told_again is not None and value.replace(part, told_again) == again)
            if is_same:
                text = (
                    escape_braces(before)
                    + correlated.text
                    + escape_braces(behind).replace(escape_braces(part), correlated.text)
                )
                return replace(correlated, operation=operation, leaf=leaf, text=text)
        return None

    def _with_word_taken(self, number: int, leaf: Leaf, value: str, again: str | None) -> Correlated | None:
        """A leaf of which one word alone differs between the recordings, such as the number of an article in an
        address, when an earlier answer holds that word. None where more differs, and for dates and times of day.
        """
        if again is None or again == value or any(re.fullmatch(pattern, value) for pattern in TIMES):
            return None
        for pattern in PART_PATTERNS:
            parts, others = pattern.split(value), pattern.split(again)
            pairs = set(zip(parts, others, strict=False)) - set(zip(parts, parts, strict=True))
            if len(parts) != len(others) or len(pairs) != 1 or parts[::2] != others[::2] or value in parts:
                continue
            correlated = self._taken(number, leaf, *pairs.pop())
            if correlated is not None:
                differs = (part != twin for part, twin in zip(parts, others, strict=True))
                marked_parts = zip(parts, differs, strict=True)
                return replace(
                    correlated,
                    text="".join(correlated.text if is_it else escape_braces(part) for part, is_it in marked_parts),
                )
        return None

    def _kind_of(self, number: int, leaf: Leaf, value: str) -> Why:
        """What a value is held for that stands in no earlier answer."""
        if value and any(value in step.passed for step in self.steps[: number + 1]):
            return "earlier message"
        if is_token(leaf.key, value) and self._is_of_first_alone(number, value):
            return "first recording alone"
        is_time = any(re.fullmatch(pattern, value) for pattern in TIMES)
        is_uuid = UUID.fullmatch(value)
        if is_time or is_uuid:
            return "client-made"
        if is_token(leaf.key, value):
            return "one use"
        option = re.compile(rf"""<option\b[^>]*value=["']?{re.escape(html.escape(value))}["' >]""", re.IGNORECASE)
        is_option = any(option.search(tags) for earlier, tags in self.options if earlier < number)
        if is_option:
            return "chosen from a list"
        is_worded = leaf.kind in ("field", "part", "JSON", "message") and re.search(r"[^\W\d_]{2}", value)
        return "typed data" if is_worded else "unknown"

    def _is_of_first_alone(self, number: int, value: str) -> bool:
        """Whether the second recording has no such request, although an earlier answer of the first holds its value."""
        return bool(self.pairs) and number not in self.pairs and self._is_in_earlier_answer(number, value)

    def _ways(self, number: int, value: str, again: str | None) -> Iterator[tuple[str, Rule, int]]:
        """Operations, rules, and in how many recordings each finds the value; the plainest way first. A rule that the
        second recording contradicts is none.
        """
        twin = self._twin(number)
        for rule in list_cookie_rules(self.steps[number].cookies, value) if number else ():
            is_proven = again is not None and twin is not None and rule in list_cookie_rules(twin.cookies, again)
            if is_proven or again is None:
                yield self.steps[number - 1].operation, rule, 2 if is_proven else 1
        for earlier in self._earlier(number, value):
            source, its_twin = self.steps[earlier], self._twin(earlier)
            for rule, recordings in _rules_of_both(source, value, its_twin, again):
                further = its_twin if again is None else None
                if self._finds_always(rule, source.operation, further):  # else another visit were an error
                    yield source.operation, rule, recordings

    def _earlier(self, number: int, value: str) -> Sequence[int]:
        """Numbers of the steps before one whose answers may hold a value, the latest first."""
        held = [self.index.find_holding(form) for form in list_word_forms(value)]
        if not held or None in held:
            return range(number - 1, -1, -1)
        known = self.lost.union(*(numbers for numbers in held if numbers))
        return sorted((earlier for earlier in known if earlier < number), reverse=True)

    @cached_property
    def index(self) -> AnswerIndex:
        """Of the answers' heads and bodies, by the number of the step."""
        return AnswerIndex([_answer_text(step.answer) for step in self.steps])

    @cached_property
    def lost(self) -> frozenset[int]:
        """Numbers of the steps whose answers the browser did not keep: the second recording may have them."""
        return frozenset(number for number, step in enumerate(self.steps) if step.is_lost)

    def _finds_always(self, rule: Rule, operation: str, further: Step | None) -> bool:
        """Whether a rule finds something in every kept answer of an operation, and in that of a further step."""
        answers = [*self.visits.get(operation, ())]
        answers += [further.answer] if further is not None and not further.is_lost else []
        return all(rule.extract_value(answer) is not None for answer in answers)


def _answer_text(answer: HarExchange) -> str:
    """Everything of an answer that rules look at."""
    return "\n".join([*(header.value for header in answer.response.headers), read_answer_text(answer)])


def _rules_of_both(source: Step, value: str, twin: Step | None, again: str | None) -> Iterator[tuple[Rule, int]]:
    """Rules by which a value is found in an answer, and in how many recordings: the same in both, or in the only one of
    which the browser kept the answer.
    """
    if again is None:
        yield from ((rule, 1) for rule in find_rules(source.answer, value))
    elif twin is None:
        return
    else:
        rules = find_rules(source.answer, value, is_short=again != value)
        yield from ((rule, 2) for rule in rules if rule.extract_value(twin.answer) == again)
        if source.is_lost or twin.is_lost:
            source_and_value = (twin.answer, again) if source.is_lost else (source.answer, value)
            yield from ((rule, 1) for rule in find_rules(*source_and_value))


def _numbered(name: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Texts with a name each, numbered from the second on."""
    for number, text in enumerate(texts, 1):
        yield text, name if number == 1 else f"{name}_{number}"


def _new_name(leaf: Leaf, path: str, known: Any) -> str:
    base = name_of(leaf.name or "value", "value", "value").lower()
    if leaf.kind == "path":  # what a segment is, the one before it says
        before = [
            segment
            for segment in path.split("/")[: int(leaf.key)]
            if re.search("[A-Za-z]", segment) and not is_token("", segment)
        ]
        base = name_of(f"{before[-1]}_id" if before else "path_value", "value", "value").lower()
    taken, number = set(known), 1
    while (name := base if number == 1 else f"{base}_{number}") in taken:
        number += 1
    return name


def _is_of_the_visit(leaf: Leaf, value: str, again: str | None) -> bool:
    """Whether a value is of its visit alone: another in the second recording, or without one by its looks."""
    return is_token(leaf.key, value) if again is None else again != value
