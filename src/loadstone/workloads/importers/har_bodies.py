"""Bodies of a HAR file that were recorded by base64, as their text."""

import base64
import binascii
import zlib

from loadstone.model.files import GZIP_BEGINS

GZIP_WINDOW = 31
"""Zlib's number for the format gzip (RFC 1952)."""
MOST_UNPACKED = 8 << 20
"""Bytes of an unpacked body that are read."""


def read_base64(text: str, mime_type: str) -> str:
    """The text of a body; empty where it is not base64, or cannot be unpacked."""
    try:
        return _decode(_unpack(base64.b64decode(text)), mime_type)
    except (ValueError, binascii.Error, zlib.error):
        return ""


def _unpack(body: bytes) -> bytes:
    """A body that a proxy recorded as it was sent, without its gzip coding; the beginning of a very long one."""
    is_packed = body.startswith(GZIP_BEGINS)
    return zlib.decompressobj(GZIP_WINDOW).decompress(body, MOST_UNPACKED) if is_packed else body


def _decode(body: bytes, mime_type: str) -> str:
    """A body's text by the charset that its media type names; UTF-8 without one."""
    _, _, named = mime_type.lower().partition("charset=")
    try:
        return body.decode(named.partition(";")[0].strip(" \"'") or "utf-8", errors="replace")
    except LookupError:
        return body.decode(errors="replace")
