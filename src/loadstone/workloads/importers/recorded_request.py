"""What was sent in a recorded request, as far as a workload can send it again. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import parse_qsl, quote, unquote_plus, urlencode

from loadstone.workloads.importers.har import BACKGROUND, HarExchange, HarRequest
from loadstone.workloads.importers.har_fields import BOUNDARY, is_multipart

Value = TypeVar("Value")

SECRET_HEADERS = ("cookie", "authorization")
"""Headers of this visit alone."""
BROWSERS_OWN = frozenset(
    {
        *("host", "connection", "keep-alive", "content-length", "content-type", "transfer-encoding", "te", "upgrade"),
        *("accept-encoding", "accept-language", "user-agent", "cache-control", "pragma", "dnt", "priority", "range"),
        *("upgrade-insecure-requests", "if-modified-since", "if-none-match", "if-range", "expect", "x-client-data"),
        *SECRET_HEADERS,
    }
)
"""Headers that browsers send by themselves, or the driver does."""
SUBPROTOCOL = "sec-websocket-protocol"
"""What the program asks for, unlike the other headers of a WebSocket's beginning (RFC 6455, section 1.9)."""
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token (RFC 9110, section 5.6.2)."""
PASSWORDS = frozenset(
    {
        *(
            "password",
            "passwd",
            "pass",
            "passphrase",
            "passcode",
            "pwd",
            "pw",
            "pin",
            "secret",
            "userpass",
            "userpassword",
        ),
        *("passwort", "kennwort", "contrasena", "senha", "motdepasse", "wachtwoord", "heslo", "otp", "totp"),
    }
)
"""Parts of names of fields that hold passwords."""
LEAST_PASSWORD = 4
"""Letters of a password: what is shorter is a switch, such as 1 or on, and could not be withheld from reports."""
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9_-]* (?! )|")
"""Before the token (RFC 9110, section 11.4); some sites have none."""
LASTING_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""A token by itself, without the fields that signatures have (RFC 9110, section 11.2)."""
SIGNING_SCHEMES = frozenset({"negotiate", "ntlm", "hawk"})
"""Schemes whose tokens are of one connection or one request."""
DISPOSITION = re.compile(r"^content-disposition:(.*)$", re.IGNORECASE | re.MULTILINE)
PART_TYPE = re.compile(r"^content-type:[ \t]*([!-~][ -~]*?)[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
PART_NAME = re.compile(r"[;\s]name=(?:\"([^\"]*)\"|([^\s;]+))", re.IGNORECASE)
UPLOAD_NAME = re.compile(r"[;\s]filename\*?=(?:\"([^\"]*)\"|([^\s;]*))", re.IGNORECASE)


def list_own_headers(exchange: HarExchange, *, is_page: bool) -> Iterator[tuple[str, str]]:
    """Yields the headers that a page's program added, not the browser. `is_page` is true if the answer was a page.

    Values of one name are joined, as receivers do (RFC 9110, section 5.3).
    """
    texts: dict[str, str] = {}
    names: dict[str, str] = {}
    for name, value in _list_headers(exchange, is_page=is_page):
        key = names.setdefault(name.lower(), name)
        texts[key] = f"{texts[key]}, {value}" if key in texts else value
    yield from texts.items()


def restore_letters(value: str) -> str:
    """Returns the letters of a header's value. Recorders read each byte as a letter, so UTF-8 looks like Latin-1."""
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def _list_headers(exchange: HarExchange, *, is_page: bool) -> Iterator[tuple[str, str]]:
    is_change = exchange.method != "GET" or exchange.is_socket
    for header in exchange.request.headers:
        name = header.name.lower()
        is_browsers = name in BROWSERS_OWN and (name != "range" or exchange.kind not in BACKGROUND)
        if is_browsers or (name.startswith((":", "sec-", "proxy-")) and name != SUBPROTOCOL):
            continue
        if name in ("origin", "referer") and not is_change:
            continue
        if name == "accept" and (is_page or header.value.strip() == "*/*"):
            continue
        value = restore_letters(header.value)
        if HEADER_NAME.fullmatch(header.name) and value.isprintable():
            yield header.name, value


def find_token(request: HarRequest) -> tuple[str, str]:
    """Scheme and token that a request is allowed by; empty where there is none, or one for each request (Digest)."""
    value = request.get_header("authorization")
    matched = SCHEME.match(value)
    scheme = matched.group() if matched else ""
    return ("", "") if scheme.lower() == "digest " else (scheme, value.removeprefix(scheme))


def list_latin_headers(exchange: HarExchange) -> list[str]:
    """Returns names of headers whose letters the browser sent as Latin-1 (Fetch, section 2.2.2), unlike a workload."""
    headers = ((header.name.lower(), header.value) for header in exchange.request.headers)
    latin = {
        name for name, value in headers if "\x7f" < max(value, default="") <= "\xff" and restore_letters(value) == value
    }
    return [name for name, _ in list_own_headers(exchange, is_page=False) if name.lower() in latin]


def has_lasting_token(request: HarRequest) -> bool:
    """Whether a request is allowed by a token or password that is good for further requests, as of HTTP Bearer. Others
    sign one request or one connection.
    """
    scheme, token = find_token(request)
    return bool(LASTING_TOKEN.fullmatch(token)) and scheme.strip().lower() not in SIGNING_SCHEMES


def find_credentials(request: HarRequest) -> str:
    """Name and password as HTTP Basic sends them (RFC 7617); empty where it does not."""
    scheme, token = find_token(request)
    return token if scheme.lower() == "basic " else ""


def is_password(name: str) -> bool:
    """Whether a field holds a password by its name, such as `user[password]`, `newPassword2` or `user_pass`."""
    parts = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
    joined = "".join(parts)
    return not PASSWORDS.isdisjoint(parts) or any(term in joined for term in ("password", "passwd", "passwort"))


def is_plain(text: str) -> bool:
    """Whether a workload's file can hold a text: printed letters, lines and tabs, all of which could be decoded."""
    return re.sub(r"[\r\n\t]", "", text).isprintable() and "\ufffd" not in text


def pair_list(text: str) -> list[tuple[str, str]]:
    """Fields in their order; empty where some could not be sent again."""
    pairs = parse_qsl(text, keep_blank_values=True)
    return pairs if all(is_plain(text) for pair in pairs for text in pair) else []


def list_foreign_pairs(text: str) -> list[tuple[str, str]]:
    """Fields of a form that is not UTF-8, with their texts as they are encoded in it; empty of one that is."""
    if "\ufffd" not in "".join(part for pair in parse_qsl(text, keep_blank_values=True) for part in pair):
        return []
    pairs = (field.partition("=") for field in text.split("&"))
    return [(unquote_plus(name, "latin-1"), value) for name, _, value in pairs]


def find_foreign_spans(text: str) -> list[tuple[str, tuple[int, int]]]:
    """The same fields with the places where their texts begin and end in the form."""
    spans, end = [], -1
    for name, value in list_foreign_pairs(text):
        end = len(text) if (mark := text.find("&", end + 1)) < 0 else mark
        spans.append((name, (end - len(value), end)))
    return spans


def index_fields(pairs: Sequence[tuple[str, Value]]) -> dict[str, Value]:
    """Fields by a key of their own: their name, with a number from the second of that name on."""
    count: Counter[str] = Counter()
    by_key: dict[str, Value] = {}
    for name, text in pairs:
        key = name
        while key in by_key:
            count[name] += 1
            key = f"{name} ({count[name] + 1})"
        by_key[key] = text
    return by_key


def read_pairs(text: str) -> dict[str, str]:
    """Fields by name; empty where a table of texts would lose one, or send others than were recorded."""
    pairs = pair_list(text)
    is_whole = (
        ";" not in text and all("=" in field for field in text.split("&")) and len(dict(pairs)) == text.count("&") + 1
    )
    return dict(pairs) if is_whole else {}


def is_encoded_as_usual(query: str) -> bool:
    """Whether a query encodes what forms encode: some caches and routers compare addresses by their letters."""
    return _normal(query) == urlencode(pair_list(query))


def _normal(text: str) -> str:
    """An encoded form, each sign that programs encode or leave as `urlencode` writes it."""
    upper = re.sub(r"%[0-9a-fA-F]{2}", lambda code: code[0].upper(), text)
    unreserved = upper.replace("%20", "+").replace("%7E", "~")
    return re.sub(r"[!'()*]", lambda sign: quote(sign[0], safe=""), unreserved)


def read_form_text(request: HarRequest) -> str:
    """A form as it was sent; empty where there was none."""
    body = request.body
    if body is None or "x-www-form-urlencoded" not in body.mime_type.lower():
        return ""
    if body.text:
        return body.text
    return "&".join(f"{quote(pair.name, safe='')}={quote(pair.value, safe='')}" for pair in body.params)


def read_body_text(request: HarRequest) -> str:
    """Returns the body of the request, empty if it is not text."""
    text = read_form_text(request) or (request.body.text if request.body else "")
    return text if is_plain(text) else ""


@dataclass(frozen=True)
class BodyPart:
    """A part of a form (RFC 7578)."""

    name: str
    text: str
    offset: int
    """Where its text begins in the body."""
    file_name: str | None
    """None of a field."""
    content_type: str = ""
    """Media type of a file; empty where the browser sent none."""

    @property
    def span(self) -> tuple[int, int]:
        """Where its text begins and ends in the body."""
        return self.offset, self.offset + len(self.text)


def read_all_parts(request: HarRequest) -> Iterator[BodyPart]:
    """Parts of a form, fields and files, whichever line ends and headers they have."""
    body = request.body
    if body is None or not is_multipart(body.mime_type):
        return
    named = BOUNDARY.search(body.mime_type)
    between = f"--{named[1]}" if named else body.text.partition("\n")[0].strip()
    if not between.startswith("--"):
        return
    line = re.escape(between)
    pattern = rf"(?:\A|(?<=\n)){line}[ \t]*\r?\n((?:[^\r\n]+\r?\n)*)\r?\n(.*?)\r?\n(?={line})"
    for part in re.finditer(pattern, body.text, re.DOTALL):
        disposition = DISPOSITION.search(part[1])
        field = PART_NAME.search(disposition[1]) if disposition else None
        if disposition is None or field is None:
            continue
        file = UPLOAD_NAME.search(disposition[1])
        file_name = None if file is None else file[1] or file[2] or ""
        kind = PART_TYPE.search(part[1])
        name = field[1] if field[1] is not None else field[2]
        yield BodyPart(name, part[2], part.start(2), file_name, kind[1] if kind else "")


def read_text_parts(request: HarRequest) -> Iterator[tuple[str, str]]:
    """Names and texts of a form of several parts, but for files."""
    return ((part.name, part.text) for part in read_all_parts(request) if part.file_name is None)


def list_unsendable_files(request: HarRequest) -> list[BodyPart]:
    """Files of a form that cannot be sent as they were recorded: as no text, or without their content. Empty where all
    can.
    """
    files = [part for part in read_all_parts(request) if part.file_name]
    is_text = request.body is not None and is_plain(request.body.text)
    return [] if is_text and all(part.text for part in files) else files
