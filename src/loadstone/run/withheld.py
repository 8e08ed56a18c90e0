"""What a workload takes from the environment: drivers are told it, and whatever they say of it is withheld."""

import html
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import quote, quote_plus

from loadstone.model.errors import UsageError

STAND_IN = re.compile(r"\\u27e8secret ([A-Z_][A-Z0-9_]*)\\u27e9")
"""A secret's place in a document that is written as JSON in ASCII."""
SHOWN = "***"
LEAST = 4
"""Letters of a secret: a shorter one stands in texts by chance, which would be withheld with it."""


@dataclass(frozen=True)
class Withheld:
    """Secrets by the name of their variable."""

    secrets: Mapping[str, str] = field(default_factory=dict)

    def told(self, document: str) -> str:
        """A document in JSON with the secrets in their places."""
        return STAND_IN.sub(lambda found: json.dumps(self.secrets[found[1]])[1:-1], document)

    def without(self, line: str) -> str:
        """A line of JSON without them, however they were encoded on their way."""
        for form in self._forms:
            line = line.replace(form, SHOWN)
        return line

    @cached_property
    def _forms(self) -> list[str]:
        encodings = (str, quote, quote_plus, html.escape, _quoted)
        texts = {encode(secret) for secret in self.secrets.values() for encode in encodings}
        every = {json.dumps(text, ensure_ascii=is_ascii)[1:-1] for text in texts for is_ascii in (True, False)}
        return sorted(every, key=len, reverse=True)


def _quoted(text: str) -> str:
    """Percent signs before all but letters and digits, as drivers write forms."""
    return quote(text, safe="")


def withheld_of(document: str) -> Withheld:
    """The secrets that a document in JSON has places for. Raises UsageError for one that is not there, or too short."""
    secrets = {}
    for name in dict.fromkeys(STAND_IN.findall(document)):
        value = os.environ.get(name, "")
        if len(value) < LEAST:
            what = "is not set" if not value else f"is shorter than {LEAST} letters, so that it could not be withheld"
            raise UsageError(f"The workload takes a value from the variable {name}, which {what}.")
        secrets[name] = value
    return Withheld(secrets)
