"""Fields of a HAR file as lenient records: headers, forms and their parts, and bodies that were sent."""

import json
import math
import re
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

from loadstone.workloads.importers.har_bodies import read_base64

BOUNDARY = re.compile(r"boundary=\"?([^\";\s]+)", re.IGNORECASE)
USUAL_BOUNDARY = "----LoadstoneFormBoundary7c0e4b1d"
"""Between parts of a form whose media type names none."""

_MOMENT = TypeAdapter(datetime)


class LenientModel(BaseModel):
    """A record of a file that others wrote: further fields are left out."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        """A field that is null counts as missing."""
        return {key: value for key, value in value.items() if value is not None} if isinstance(value, dict) else value


def keep_pairs(value: Any) -> Any:
    """Returns headers and fields: entries that are none are left out; some recorders write a table."""
    if isinstance(value, dict):
        value = [{"name": name, "value": value} for name, value in value.items()]
    if not isinstance(value, list):
        return []
    return [pair for pair in value if isinstance(pair, dict) and isinstance(pair.get("name"), str)]


def write_text(value: Any) -> Any:
    """Returns a text; a body that a recorder has written as JSON instead is its JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def keep_table(value: Any) -> Any:
    """Returns a table; an empty one for all else."""
    return value if isinstance(value, dict) else {}


def read_number(value: Any) -> float:
    """Returns a finite number; 0 for all else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if math.isfinite(number) else 0.0


def read_moment(value: Any) -> datetime | None:
    """Returns a moment; None for all else."""
    try:
        return _MOMENT.validate_python(value)
    except ValidationError:
        return None


class HarPair(LenientModel):
    """A header or a field."""

    name: str
    value: str = ""

    _value_is_text = field_validator("value", mode="before")(write_text)


class Param(HarPair):
    """A field of a form, or a file."""

    file_name: str = Field(default="", alias="fileName")
    content_type: str = Field(default="", alias="contentType")

    @property
    def head(self) -> str:
        """Header fields of its part (RFC 7578, section 4.2)."""
        named = f'Content-Disposition: form-data; name="{_quoted(self.name)}"'
        kind = f"\r\nContent-Type: {self.content_type}" if self.content_type else ""
        return f'{named}; filename="{_quoted(self.file_name)}"{kind}' if self.file_name else f"{named}{kind}"


def _quoted(text: str) -> str:
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


class Body(LenientModel):
    """What was sent."""

    mime_type: str = Field(default="", alias="mimeType")
    params: list[Param] = Field(default_factory=list)
    text: str = ""
    encoding: str = ""

    _params_are_pairs = field_validator("params", mode="before")(keep_pairs)
    _text_is_text = field_validator("text", mode="before")(write_text)

    @model_validator(mode="after")
    def _decoded(self) -> "Body":
        """A body that was recorded by base64 is its text, where it is text."""
        if self.encoding.lower() == "base64":
            self.text = read_base64(self.text, self.mime_type)
        return self

    @model_validator(mode="after")
    def _written(self) -> "Body":
        """A form of several parts of which the recorder kept the fields alone is written from them."""
        if self.params and not self.text and is_multipart(self.mime_type):
            named = BOUNDARY.search(self.mime_type)
            boundary = named[1] if named else USUAL_BOUNDARY
            self.mime_type += "" if named else f"; boundary={boundary}"
            parts = "".join(f"--{boundary}\r\n{param.head}\r\n\r\n{param.value}\r\n" for param in self.params)
            self.text = f"{parts}--{boundary}--\r\n"
        return self


def is_multipart(mime_type: str) -> bool:
    """Whether a media type is that of a form of several parts (RFC 7578)."""
    return mime_type.lower().startswith("multipart/form-data")
