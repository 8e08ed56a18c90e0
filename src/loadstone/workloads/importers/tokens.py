"""What a value looks like: a token that a server gave out, a moment, a UUID. Pure."""

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import islice

ONE_TIME_NAMES = ("csrf", "xsrf", "token", "nonce", "viewstate", "eventvalidation", "signature", "requestid", "ifmatch")
"""Parts of names whose values servers give out for one use."""
LEAST_TOKEN_LETTERS = 16
"""Letters of a value that is taken for a token by its looks alone."""
WITHIN = re.compile(r"[A-Za-z0-9+/_.~-]{16,}={0,2}")
"""A text within others that may be a token: LEAST_TOKEN letters at least."""
MOST_WITHIN = 50
"""Tokens within one text that are looked up."""
TIMES = (
    r"1[0-9]{9}([0-9]{3})?(\.[0-9]+)?",
    r"20[0-9]{2}[01][0-9][0-3][0-9]([0-2][0-9][0-5][0-9][0-5][0-9]([0-9]{3})?)?",
    r"20[0-9]{2}-[01][0-9]-[0-3][0-9]([T ][0-9:.]+(Z|[+-][0-9:]+)?)?",
)
"""A moment in seconds or milliseconds since 1970, in digits alone, and by ISO 8601."""
ISO_MOMENT = re.compile(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{3})?Z")
"""A moment by ISO 8601 in UTC, with or without milliseconds."""
MS_DIGITS = 13
"""Digits of a moment in milliseconds since 1970."""
SENDING_S = 10.0
"""A moment that is so close to that of its request is that of its request."""
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_token(key: str, value: str) -> bool:
    """Whether a value looks like one that a server gave out, by its name or by its letters."""
    plain = re.sub(r"[^a-z]", "", key.lower())
    if any(term in plain for term in ONE_TIME_NAMES):
        return True
    if value.startswith("/"):
        return any(is_token("", segment) for segment in value.split("/"))
    is_random = len(value) >= LEAST_TOKEN_LETTERS and re.fullmatch(r"[A-Za-z0-9+/=_.~-]+", value) is not None
    return is_random and any(letter.isdigit() for letter in value) and any(letter.isalpha() for letter in value)


def find_tokens(text: str) -> list[re.Match[str]]:
    """Tokens in a longer text, which have no path, no name of a host and no sentence in them."""
    tokens = (match for match in WITHIN.finditer(text) if match[0] != text and is_token("", match[0]))
    return list(islice((match for match in tokens if _is_random(match[0])), MOST_WITHIN))


def _is_random(text: str) -> bool:
    if "/" not in text and "." not in text:
        return True
    is_base64 = "." not in text and "//" not in text and ("+" in text or text.endswith("="))
    return is_base64 or (text.startswith("eyJ") and "/" not in text)


def split_between(text: str, tokens: Sequence[re.Match[str]]) -> list[str]:
    """Returns the texts before, between and behind the tokens of a text."""
    begins, ends = [0, *(token.end() for token in tokens)], [*(token.start() for token in tokens), len(text)]
    return [text[begin:end] for begin, end in zip(begins, ends, strict=True)]


def _time_form(value: str, sent_s: float) -> str:
    """How the moment of its request stands in a value: `s`, `ms`, `iso` or `iso_s`; empty where it does not."""
    if re.fullmatch(r"1[0-9]{9}([0-9]{3})?", value):
        form = "ms" if len(value) > len("1700000000") else "s"
        at_s = int(value) / (1000 if form == "ms" else 1)
    elif matched := ISO_MOMENT.fullmatch(value):
        try:
            form, at_s = "iso" if matched[1] else "iso_s", datetime.fromisoformat(value).timestamp()
        except ValueError:
            return ""
    else:
        return ""
    return form if abs(at_s - sent_s) <= SENDING_S else ""


def find_moment(value: str, sent_s: float) -> tuple[str, str]:
    """Form of the moment of its request, as `_time_form`, and the text behind it: programs that make an address unique
    write further digits behind milliseconds.
    """
    if form := _time_form(value, sent_s):
        return form, ""
    moment, rest = value[:MS_DIGITS], value[MS_DIGITS:]
    return ("ms", rest) if rest and _time_form(moment, sent_s) == "ms" else ("", "")
