"""Names of parametrized tests: a value of a hundred thousand letters is no name that a person can read or type."""

import zlib

LONGEST = 80
"""Letters of a value in a name."""


def pytest_make_parametrize_id(val: object) -> str | None:
    """Returns the beginning of a long value, its length and its checksum; None leaves a short value as it is."""
    if not isinstance(val, str | bytes) or len(val) <= LONGEST:
        return None
    raw = val.encode(errors="surrogatepass") if isinstance(val, str) else val
    begin = val[: LONGEST // 2].encode("unicode_escape").decode() if isinstance(val, str) else repr(val[: LONGEST // 2])
    return f"{begin}... {len(val)} of {zlib.crc32(raw):08x}"
