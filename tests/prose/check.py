"""Rules of plain English over sentences; exceptions are a file that people review.

An exception is a part of a sentence of a file, with a reason. Where no finding needs it any more, it is an error.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.prose.texts import CODE, Sentence, page_sentences, pages, source_sentences

FOLDER = Path(__file__).parent
MOST_WORDS = 25
"""Words of a sentence."""
BEGINNING = re.compile(r"(?:\| )?(?:By what|By which|Of|What|Who|Whom|Whose)\b(?!.*\?)")
"""Words that begin a sentence whose subject and verb come late; questions are free to."""
NOUN_OF_PLACE = re.compile(r"(?:\| )?Where\b(?!.*[,?])")
"""`Where` in place of a noun; before a main clause, and so with a comma, it is a condition."""


class Place(StrEnum):
    """Where a sentence is read."""

    MESSAGES = "messages"
    PAGES = "pages"


class Rule(StrEnum):
    """What a sentence may break."""

    WORDS = "words"
    BEGINNING = "beginning"
    LENGTH = "length"


@dataclass(frozen=True)
class Word:
    """A phrase to avoid, with the plain ones."""

    pattern: re.Pattern[str]
    plain: str
    places: frozenset[Place]


@dataclass(frozen=True)
class Finding:
    """A sentence that breaks a rule."""

    place: Place
    rule: Rule
    sentence: Sentence
    remedy: str

    def __str__(self) -> str:
        return f"{self.sentence.file}:{self.sentence.line}: {self.remedy}: {self.sentence.text}"


@dataclass(frozen=True)
class Allowance:
    """A sentence that may break rules, and why."""

    file: str
    part: str
    reason: str

    def covers(self, sentence: Sentence) -> bool:
        """Whether the sentence is the one."""
        return sentence.file == self.file and self.part in sentence.text


def words() -> list[Word]:
    """The phrases of `words.csv`."""
    return [
        Word(
            re.compile(rf"\b(?:{row['pattern']})(?![\w-])", re.IGNORECASE),
            row["plain"],
            frozenset(Place) if row["where"] == "all" else frozenset({Place(row["where"])}),
        )
        for row in _rows(FOLDER / "words.csv")
    ]


def allowances() -> list[Allowance]:
    """The sentences of `exceptions.csv`."""
    return [Allowance(row["file"], row["sentence"], row["reason"]) for row in _rows(FOLDER / "exceptions.csv")]


def sentences() -> Iterator[tuple[Place, Sentence]]:
    """All sentences of the project."""
    yield from ((Place.PAGES, sentence) for page in pages() for sentence in page_sentences(page))
    yield from ((Place.MESSAGES, sentence) for sentence in source_sentences())


def findings(read: Iterable[tuple[Place, Sentence]], avoided: Iterable[Word]) -> list[Finding]:
    """Sentences that break rules, in their order."""
    avoided = list(avoided)
    return [finding for place, sentence in read for finding in _of_sentence(place, sentence, avoided)]


def without(broken: Iterable[Finding], allowed: Iterable[Allowance]) -> tuple[list[Finding], list[Allowance]]:
    """Findings that no exception covers, and exceptions that cover no finding."""
    broken, allowed = list(broken), list(allowed)
    open_findings = [
        finding for finding in broken if not any(allowance.covers(finding.sentence) for allowance in allowed)
    ]
    idle = [allowance for allowance in allowed if not any(allowance.covers(finding.sentence) for finding in broken)]
    return open_findings, idle


def _of_sentence(place: Place, sentence: Sentence, avoided: list[Word]) -> Iterator[Finding]:
    text = CODE.sub("`code`", sentence.text)
    for word in avoided:
        if place in word.places and (match := word.pattern.search(text)):
            yield Finding(place, Rule.WORDS, sentence, f"`{match[0]}`, plainly: {word.plain}")
    if BEGINNING.match(text) or NOUN_OF_PLACE.match(text):
        yield Finding(place, Rule.BEGINNING, sentence, "begin with the subject")
    if sentence.words > MOST_WORDS:
        yield Finding(place, Rule.LENGTH, sentence, f"{sentence.words} words, at most {MOST_WORDS}")


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))
