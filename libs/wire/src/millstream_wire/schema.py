"""Declare a Kafka message once, for every version we speak.

    @message(api_key=12, versions=(0, 4), flexible=4)
    class HeartbeatRequest(Request["HeartbeatResponse"]):
        group_id: string = ""
        group_instance_id: string | None = field(default=None, since=3)

A declaration is an ordinary dataclass to readers and type checkers; `compile.py` turns it into a codec per version.
Defaults are Kafka's own: zero, empty, or what the protocol says.
"""

import dataclasses
import sys
import typing
import uuid
from collections.abc import Callable
from functools import cache
from types import NoneType
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, cast, dataclass_transform

from millstream_wire.late_dataclass import dataclass, late


@dataclass(frozen=True, slots=True)
class Fixed:
    """A value of constant width; `format` is its `struct` code."""

    format: str


@dataclass(frozen=True, slots=True)
class Sized:
    """A length, then that many bytes."""

    kind: Literal["string", "bytes", "records"]


@dataclass(frozen=True, slots=True)
class Array:
    item: "WireType"


# A class stands for its @struct declaration.
WireType: TypeAlias = Fixed | Sized | Array | type

boolean: TypeAlias = Annotated[bool, Fixed("?")]
int8: TypeAlias = Annotated[int, Fixed("b")]
int16: TypeAlias = Annotated[int, Fixed("h")]
int32: TypeAlias = Annotated[int, Fixed("i")]
int64: TypeAlias = Annotated[int, Fixed("q")]
uint16: TypeAlias = Annotated[int, Fixed("H")]
float64: TypeAlias = Annotated[float, Fixed("d")]
uuid128: TypeAlias = Annotated[uuid.UUID, Fixed("16s")]
string: TypeAlias = Annotated[str, Sized("string")]
binary: TypeAlias = Annotated[bytes, Sized("bytes")]
# Decoded: a view into the frame, so that a batch is never copied. Encoded: anything with a length, so that a slice of
# a file can travel without having been read. The type checker cannot say both.
batches: TypeAlias = Annotated[Any, Sized("records")]
batches_or_null: TypeAlias = Annotated[Any, Sized("records"), None]

FOREVER = 32767
OWN_TAGS = 10_000
"""From this tag on, far from where Kafka's own count up to, fields are ours, and only our own nodes and clients send them; whoever does not
know one steps over it."""
ZERO_UUID = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True)
class Presence:
    """In which versions a field is on the wire, and how."""

    since: int = 0
    until: int = FOREVER
    nullable_since: int = 0
    nullable_until: int = FOREVER
    tag: int | None = None
    tagged_since: int = 0


EVERYWHERE = Presence()


@dataclass(frozen=True, slots=True)
class Field:
    """A field as one version carries it; `present` is false where it only takes its default."""

    name: str
    type: WireType
    nullable: bool
    tag: int | None
    default: Callable[[], Any]
    present: bool


def field(
    *,
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    since: int = 0,
    until: int = FOREVER,
    nullable_since: int = 0,
    nullable_until: int = FOREVER,
    tag: int | None = None,
    tagged_since: int = 0,
) -> Any:
    """Say what the annotation cannot: versions (both ends included), default, tag."""
    presence = Presence(since, until, nullable_since, nullable_until, tag, tagged_since)
    return dataclasses.field(default=default, default_factory=default_factory, metadata={"presence": presence})


class Declared:
    """What every top-level declaration has: the versions it is valid in and the first flexible one (None: never)."""

    __slots__ = ()
    versions: ClassVar[tuple[int, int]]
    flexible: ClassVar[int | None]


class Message(Declared):
    """The body of a request or a response."""

    __slots__ = ()
    api_key: ClassVar[int]
    is_request: ClassVar[bool]


class Response(Message):
    __slots__ = ()
    is_request = False


R = TypeVar("R", bound=Response)


class Request(Message, Generic[R]):
    """A request that `R` answers: whoever serves or sends one is held to it by the type checker."""

    __slots__ = ()
    is_request = True

    @classmethod
    def answer_type(cls) -> type[R]:
        (named,) = typing.get_args(cls.__orig_bases__[0])  # type: ignore[attr-defined]
        found: type[R] = vars(sys.modules[cls.__module__])[named.__forward_arg__]
        return found


class Stored(Declared):
    """A key or value kept in a topic behind a two-byte version."""

    __slots__ = ()


T = TypeVar("T")
M = TypeVar("M", bound=Message)
S = TypeVar("S", bound=Stored)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def struct(cls: type[T]) -> type[T]:
    """Declare a part of a message."""
    return cast(type[T], late(cls, kw_only=True))


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def message(*, api_key: int, versions: tuple[int, int], flexible: int | None) -> Callable[[type[M]], type[M]]:
    def declare(cls: type[M]) -> type[M]:
        cls = struct(cls)
        cls.api_key, cls.versions, cls.flexible = api_key, versions, flexible
        return cls

    return declare


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def stored(*, versions: tuple[int, int], flexible: int | None) -> Callable[[type[S]], type[S]]:
    def declare(cls: type[S]) -> type[S]:
        cls = struct(cls)
        cls.versions, cls.flexible = versions, flexible
        return cls

    return declare


def is_flexible(cls: type[Declared], version: int) -> bool:
    return cls.flexible is not None and version >= cls.flexible


@cache
def fields_at(cls: type, version: int) -> tuple[Field, ...]:
    """All fields of a declaration, as `version` sees them, in wire order."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return tuple(_field_at(declared, hints[declared.name], version) for declared in dataclasses.fields(cls))


def _field_at(declared: "dataclasses.Field[Any]", hint: Any, version: int) -> Field:
    presence: Presence = declared.metadata.get("presence", EVERYWHERE)
    wire_type, nullable = _resolve(hint)
    return Field(
        name=declared.name,
        type=wire_type,
        nullable=nullable and presence.nullable_since <= version <= presence.nullable_until,
        tag=presence.tag if version >= presence.tagged_since else None,
        default=_default_of(declared),
        present=presence.since <= version <= presence.until,
    )


def _default_of(declared: "dataclasses.Field[Any]") -> Callable[[], Any]:
    if declared.default_factory is not dataclasses.MISSING:
        return declared.default_factory
    value = declared.default
    assert value is not dataclasses.MISSING, f"{declared.name} has no default"
    return lambda: value


def _resolve(hint: Any) -> tuple[WireType, bool]:
    """An annotation as (what is on the wire, may it be null)."""
    if isinstance(hint, type) and typing.get_origin(hint) is None:
        return hint, False
    if hasattr(hint, "__metadata__"):
        return hint.__metadata__[0], None in hint.__metadata__
    if typing.get_origin(hint) is list:
        return Array(_resolve(typing.get_args(hint)[0])[0]), False
    (option,) = (option for option in typing.get_args(hint) if option is not NoneType)
    return _resolve(option)[0], True
