"""Values that a workload draws, one class a kind of generator."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from loadstone.model.reading import Section
from loadstone.model.workload.bounds import LARGEST_WHOLE, Day, Name, NotNegative, Positive, WholeNumber

OPTIONS_PREFIX = "LOADSTONE_"
"""Variables of this name are options and tokens of the lab itself."""


def _no_option(variable: str) -> str:
    if variable.startswith(OPTIONS_PREFIX):
        raise ValueError(f"names that begin with {OPTIONS_PREFIX} set options, which results disclose")
    return variable


class _Drawn(Section):
    redraw: Literal["operation", "session"] | tuple[str, ...] = Field(
        default="operation", description='`"operation"`, `"session"` or a list of states'
    )


class Uniform(_Drawn):
    """A whole number, zero-padded."""

    kind: Literal["uniform"]
    min: WholeNumber = 1
    """The smallest number."""
    max: WholeNumber | None = None
    """The largest number."""
    max_per_session: Positive | None = None
    """Instead of `max`: so many for each session of the load."""
    max_of: Name | None = None
    """As many as there are rows of this name in [data] or [scale]."""
    digits: Annotated[int, Field(ge=0, le=20)] = 0
    """Least number of digits, padded with zeros."""


class Exponential(_Drawn):
    """A whole number from 1 on, the smaller the likelier."""

    kind: Literal["exponential"]
    max: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] | None = None
    """The largest number."""
    max_of: Name | None = None
    """As many as there are rows of this name in [data]."""
    mean_share: Positive
    """Its mean, before it is cut off at the largest, as a share of that."""


class Zipf(_Drawn):
    """A rank by Zipf's law, zero-padded."""

    kind: Literal["zipf"]
    alpha: NotNegative
    """Exponent: the larger, the likelier are the first ranks."""
    n: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] | None = None
    """Number of ranks."""
    n_per_session: Positive | None = None
    """Instead of `n`: ranks for each session of the load."""
    first: Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] = 1
    """Number of the first rank."""
    digits: Annotated[int, Field(ge=0, le=20)] = 0
    """Least number of digits, padded with zeros."""


class Choice(_Drawn):
    """One of several texts."""

    kind: Literal["choice"]
    values: Annotated[tuple[str, ...], Field(min_length=1)]
    """The texts."""
    weights: tuple[NotNegative, ...] | None = None
    """A weight of each text. Default: all are equally likely."""


class TableValues(_Drawn):
    """One row of a table: fills `{name.column}` for every column."""

    kind: Literal["table"]
    file: str | None = None
    """CSV file in the folder of the workload, with columns and rows."""
    own: bool = False
    """Whether each session has a row to itself, always the same, instead of one that is drawn."""
    columns: Annotated[tuple[Name, ...], Field(min_length=1)]
    """Names of the columns, where there is no file."""
    rows: Annotated[tuple[tuple[str, ...], ...], Field(min_length=1)]
    """Rows of texts, where there is no file."""
    weights: tuple[NotNegative, ...] | None = None
    """A weight of each row. Default: all are equally likely."""


class Environment(_Drawn):
    """A secret from an environment variable of the lab. No record and no report shows it."""

    kind: Literal["environment"]
    variable: Annotated[str, StringConstraints(pattern=r"^[A-Z_][A-Z0-9_]{0,60}$"), AfterValidator(_no_option)]
    """Name of the variable, in capital letters. Its value has at least four letters."""


class WordValues(_Drawn):
    """Some words in a row."""

    kind: Literal["words"]
    words: Annotated[tuple[str, ...], Field(min_length=1)]
    """The words."""
    count: Annotated[int, Field(ge=1, le=100)] = 3
    """Number of words."""
    separator: str = " "
    """Text between two words."""


class Date(_Drawn):
    """A date between two, written YYYY-MM-DD."""

    kind: Literal["date"]
    from_: Day = Field(alias="from")
    """The first day, as YYYY-MM-DD."""
    to: Day
    """The last day, as YYYY-MM-DD."""

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        if self.to < self.from_:
            raise ValueError("`to` lies before `from`")
        return self


class User(Section):
    """User ids: each session owns some and takes the next one at each new user session."""

    kind: Literal["user"]
    per_session: Annotated[int, Field(ge=1, le=LARGEST_WHOLE)] = 1
    """Numbers that each session owns."""
    first: Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] = 1
    """The first number."""
    digits: Annotated[int, Field(ge=0, le=20)] = 0
    """Least number of digits, padded with zeros."""
    any: bool = False
    """Any of the session's own at each draw, instead of the next."""
    redraw: Literal["operation", "session"] | tuple[str, ...] = "session"
    """When the next number is taken: once for each user, before each operation, or in these states."""


class Text(_Drawn):
    """A text made of other values."""

    kind: Literal["text"]
    text: str
    """The text; `{name}` is replaced by another value."""


class Counter(_Drawn):
    """A number that grows by one at each draw of a session."""

    kind: Literal["counter"]
    first: Annotated[int, Field(ge=0, le=LARGEST_WHOLE)] = 1
    """The first number."""
    digits: Annotated[int, Field(ge=0, le=20)] = 0
    """Least number of digits, padded with zeros."""


class Unique(_Drawn):
    """A text that no other draw gives, of this run or another."""

    kind: Literal["unique"]
    prefix: str = ""
    """Text before the 13 letters and digits."""


class Uuid(_Drawn):
    """A random UUID (RFC 9562, version 4) that no other draw gives, of this run or another."""

    kind: Literal["uuid"]


class Now(_Drawn):
    """The moment at which the operation is due."""

    kind: Literal["now"]
    form: Literal["s", "ms", "iso", "iso_s"] = "ms"
    """Seconds or milliseconds since 1970, or ISO 8601 in UTC with milliseconds (as JavaScript writes it) or seconds."""


Value = Annotated[
    Uniform
    | Exponential
    | Zipf
    | Choice
    | TableValues
    | Environment
    | WordValues
    | Date
    | User
    | Text
    | Counter
    | Unique
    | Uuid
    | Now,
    Field(discriminator="kind"),
]
