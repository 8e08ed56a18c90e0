"""What a recorded request is made of: the places whose texts may be another in each visit. Pure."""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from loadstone.workloads.importers.answers import list_json_leaves
from loadstone.workloads.importers.har import Content, HarExchange
from loadstone.workloads.importers.recorded_request import (
    find_credentials,
    find_token,
    has_lasting_token,
    index_fields,
    list_foreign_pairs,
    pair_list,
    read_body_text,
    read_form_text,
    read_text_parts,
)
from loadstone.workloads.importers.sockets import list_leaves
from loadstone.workloads.importers.steps import Leaf, Step
from loadstone.workloads.importers.visit import Page

AUTHORIZATION = Leaf("header", "Authorization")
"""Of what follows the scheme in that header, where it is a token that an answer told (RFC 6750, section 2.1)."""
BODY = Leaf("body", "")
"""A body that has no fields of its own, such as XML."""


def list_steps(pages: Sequence[Page]) -> list[Step]:
    """Pages as their values are looked up."""
    held: set[str] = set()
    steps = []
    for page in pages:
        sent = {name: text for name, text in list_sent_cookies(page.first).items() if name in held}
        steps.append(_step(page, sent))
        for exchange in (page.first, page.last, *page.embedded):
            held |= list_set_cookies(exchange)
    return steps


def list_set_cookies(exchange: HarExchange) -> set[str]:
    """Names of the cookies that an answer set."""
    lines = (header.value for header in exchange.response.headers if header.name.lower() == "set-cookie")
    return {line.partition("=")[0].strip() for text in lines for line in text.split("\n")}


def list_sent_cookies(exchange: HarExchange) -> dict[str, str]:
    """Cookies that a request sent."""
    lines = (header.value for header in exchange.request.headers if header.name.lower() == "cookie")
    pairs = (pair.partition("=") for text in lines for pair in text.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _step(page: Page, cookies: Mapping[str, str]) -> Step:
    """A page as its values are looked up."""
    segments = enumerate(page.first.parts.path.split("/"))
    leaves = {Leaf("path", str(place)): unquote(text) for place, text in segments if re.search(r"[0-9]", text)}
    leaves |= {Leaf("query", key): text for key, text in index_fields(pair_list(page.first.parts.query)).items()}
    form = read_form_text(page.first.request)
    leaves |= {
        Leaf("field", key): text for key, text in index_fields(pair_list(form) or list_foreign_pairs(form)).items()
    }
    leaves |= {Leaf("header", key): text for key, text in page.list_own_headers()}
    leaves |= {AUTHORIZATION: token} if (token := find_token(page.first.request)[1]) else {}
    leaves |= {Leaf("part", key): text for key, text in index_fields(list(read_text_parts(page.first.request))).items()}
    leaves |= _message_leaves(page)
    route, body = (page.name, page.first.method, page.first.parts.path), read_body_text(page.first.request)
    if not form:
        json = {Leaf("JSON", pointer): text for pointer, text in list_json_leaves(body)}
        is_whole = body and not json and not any(leaf.kind == "part" for leaf in leaves)
        leaves |= {BODY: body} if is_whole else json
    if not page.first.is_socket:
        answer = _with_passed_heads(page)
        request = page.first.request
        credentials, is_lasting = find_credentials(request), has_lasting_token(request)
        return Step(*route, leaves, answer, cookies, "", body, credentials, is_lasting)
    return Step(*route, leaves, _last_message(page), cookies, _passed_messages(page), body)


def _with_passed_heads(page: Page) -> HarExchange:
    """The answer of a page, its head with those of the redirects before it: values may stand in any of them."""
    headers = [
        *page.last.response.headers,
        *(header for exchange in page.passed for header in exchange.response.headers),
    ]
    return page.last.model_copy(update={"response": page.last.response.model_copy(update={"headers": headers})})


def _passed_messages(page: Page) -> str:
    last = next((turn.heard[-1] for turn in reversed(page.talk) if turn.heard), None)
    return "\n".join(
        message.data for turn in page.talk for message in turn.heard if message is not last and message.is_text
    )


def _message_leaves(page: Page) -> dict[Leaf, str]:
    texts = ((number, turn.text) for number, turn in enumerate(page.talk) if turn.text)
    return {
        build_message_leaf(number, pointer): text for number, message in texts for pointer, text in list_leaves(message)
    }


def build_message_leaf(number: int, pointer: str) -> Leaf:
    """A place in what was sent in a turn over a WebSocket; the empty pointer is the whole message."""
    return Leaf("message", f"{number}{pointer}")


def _last_message(page: Page) -> HarExchange:
    """A WebSocket's exchange with the message that ends it for an answer: what values are taken from."""
    text = next((turn.last for turn in reversed(page.talk) if turn.heard), "")
    response = page.last.response.model_copy(update={"content": Content(text=text)})
    return page.last.model_copy(update={"response": response})
