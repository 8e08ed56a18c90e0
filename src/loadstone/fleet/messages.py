"""Messages between the parts of a fleet: each is a frozen dataclass, validated when it arrives and carried out by the
method that its `kind` names. Nothing here knows a particular message.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, fields
from functools import cache, reduce
from operator import or_
from typing import (
    Annotated,
    Any,
    ClassVar,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
)

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, to_jsonable_python

from loadstone.fleet.contract import FleetError, Json
from loadstone.model.errors import LoadstoneError
from loadstone.model.reading import describe_problem

Answer = TypeVar("Answer")
Arguments = ParamSpec("Arguments")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class FleetMessage(Generic[Answer]):
    """A request to another part, and the type of its answer. Interfaces are the classes below, and their messages the
    classes below those: frozen dataclasses whose fields are the arguments of the method that `kind` names.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")
    kind: ClassVar[str]
    timeout_s: ClassVar[float]
    """Longest wait for the answer."""

    def __init_subclass__(cls, kind: str = "", timeout_s: float = 30.0) -> None:
        super().__init_subclass__()
        if kind:
            cls.timeout_s = timeout_s
            cls.kind = kind
            cls.__annotations__["kind"] = Literal[kind]  # a field, by which an interface's messages are told apart
            dataclass(frozen=True)(cls)

    def read_answer(self, value: Any) -> Answer:
        """Validates an answer that came in plain data. Raises FleetError."""
        try:
            adapter = _answers(type(self))  # type: ignore[arg-type]  # mypy takes the hash of instances for the class's
            answer: Answer = adapter.validate_python(value)
        except ValidationError as error:
            raise FleetError(f"The answer to `{self.kind}` is not valid: {_first_error(error)}.") from None
        return answer


@dataclass(frozen=True)
class OneOf:
    """Annotates an interface: the union of its messages, told apart by `kind`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        union = reduce(or_, get_origin(source).__subclasses__())
        return handler.generate_schema(Annotated[union, Field(discriminator="kind")])


@cache
def _answers(message: type[FleetMessage[Any]]) -> TypeAdapter[Any]:
    (base,) = message.__orig_bases__  # type: ignore[attr-defined]
    return TypeAdapter(*get_args(base))


def ask_by(
    message: Callable[Arguments, FleetMessage[Answer]],
) -> Callable[Concatenate[Any, Arguments], Coroutine[Any, Any, Answer]]:
    """A method whose arguments are the fields of a message, which its object's `ask` sends. Raises LoadstoneError."""

    async def method(self: Any, /, *args: Arguments.args, **named: Arguments.kwargs) -> Answer:
        answer: Answer = await self.ask(message(*args, **named))
        return answer

    return method


async def serve(messages: TypeAdapter[Any], document: Json, who: str, *targets: object) -> Json:
    """Validates a message and has it carried out; the answer in plain data, or the LoadstoneError that came of it. A
    message that is not valid changes nothing.
    """
    try:
        return {"value": to_jsonable_python(await carry_out(read(messages, document, who), *targets))}
    except LoadstoneError as error:
        return write_error(error)


def write_message(request: FleetMessage[Any]) -> Json:
    """A message in plain data."""
    return {**to_jsonable_python(request)}


def read(messages: TypeAdapter[Any], document: Json, who: str) -> FleetMessage[Any]:
    """Validates a message in plain data. Raises FleetError for one that `who` does not know or cannot read."""
    try:
        request: FleetMessage[Any] = messages.validate_python(document)
    except ValidationError as error:
        raise FleetError(f"{who} {_first_error(error)}.") from None
    return request


def _first_error(error: ValidationError) -> str:
    """Where and why something is not valid, without its content, which may be secret."""
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "union_tag_invalid":
        return f"does not know `{first['ctx']['tag']}`"
    place = ".".join(map(str, first["loc"])) or "."
    return f"cannot read `{place}`: {describe_problem(first)}"


async def carry_out(request: FleetMessage[Answer], *targets: object) -> Answer:
    """Calls the method that carries out a message, of the first of these objects that has it. Raises what that does."""
    target = next(target for target in targets if hasattr(type(target), request.kind))
    names = (argument.name for argument in fields(request) if argument.name != "kind")  # type: ignore[arg-type]
    answer: Answer = await getattr(target, request.kind)(**{name: getattr(request, name) for name in names})
    return answer


def write_error(error: LoadstoneError) -> Json:
    """An error in plain data."""
    return {"error": type(error).__name__, "text": str(error)}


def answer_of(document: Json) -> Any:
    """Returns the answer that another part sent, in plain data, or raises the error that it sent instead."""
    if "error" not in document:
        return document["value"]
    kinds = {kind.__name__: kind for kind in _error_kinds(LoadstoneError)}
    raise kinds.get(document["error"], FleetError)(document["text"])


def _error_kinds(above: type[LoadstoneError]) -> list[type[LoadstoneError]]:
    """All kinds of errors that a text alone makes."""
    below = [kind for child in above.__subclasses__() for kind in _error_kinds(child)]
    return [kind for kind in [above, *below] if kind.__init__ in (LoadstoneError.__init__, Exception.__init__)]
