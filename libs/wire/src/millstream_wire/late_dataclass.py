"""`dataclass(slots=True)` whose methods are written when they are first called.

A process declares hundreds of classes before it can serve, and calls few of their methods: writing and compiling all of them, as
`dataclasses` does, was a quarter of a node's start. Type checkers see the decorator of `dataclasses`; `fields`, `replace` and
`asdict` take these classes as they take its own. Compiled modules use that of `dataclasses`, which mypyc knows.
"""

import dataclasses
import typing
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, slots: Literal[True], frozen: bool = False, kw_only: bool = False, eq: bool = True) -> Any:
        return lambda cls: late(cls, frozen=frozen, kw_only=kw_only, eq=eq)


def late(cls: type, *, frozen: bool = False, kw_only: bool = False, eq: bool = True) -> Any:
    """A class with slots for what `cls` declares, and its methods."""
    content = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    hints = content.get("__annotations__", {})
    names = [name for name, hint in hints.items() if not _is_of_the_class(hint)]
    defaults = {name: content.pop(name) for name in names if name in content}
    inherited = {slot for base in cls.__mro__[1:] for slot in vars(base).get("__slots__", ())}
    content["__slots__"] = tuple(name for name in names if name not in inherited)
    content["__dataclass_fields__"] = _LateFields({name: hints[name] for name in names}, defaults, kw_only=kw_only)
    if not kw_only:
        first = getattr(cls, "__match_args__", ())
        content.setdefault("__match_args__", (*first, *(name for name in names if name not in first)))
    content.setdefault("__init__", _first_init)
    content.setdefault("__repr__", _repr)
    if frozen:
        content |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        content |= {"__getstate__": _state, "__setstate__": _set_state}
    if eq:
        content.setdefault("__eq__", _first_eq)
        if content.get("__hash__") is None:
            content["__hash__"] = _first_hash if frozen else None
    made: Any = type(cls)(cls.__name__, cls.__bases__, content)
    made.__qualname__ = cls.__qualname__
    return made


def _is_of_the_class(hint: Any) -> bool:
    return hint is ClassVar or typing.get_origin(hint) is ClassVar


class _LateFields:
    """Stands in for what `dataclass` notes of a class, until somebody asks."""

    def __init__(self, hints: Mapping[str, Any], defaults: Mapping[str, Any], *, kw_only: bool) -> None:
        self._hints = hints
        self._defaults = defaults
        self._kw_only = kw_only

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner

    def __get__(self, instance: object, cls: type) -> "dict[str, dataclasses.Field[Any]]":
        owner: Any = self._owner
        bases = tuple(base for base in owner.__bases__ if hasattr(base, "__dataclass_fields__"))
        about = {"__module__": owner.__module__, "__doc__": "", "__annotations__": self._hints}
        declared: Any = type(owner.__name__, bases, {**self._defaults, **about})
        noted: Any = dataclasses.dataclass(kw_only=self._kw_only, init=False, repr=False, eq=False)(declared)
        fields: dict[str, dataclasses.Field[Any]] = noted.__dataclass_fields__
        owner.__dataclass_params__ = noted.__dataclass_params__
        owner.__dataclass_fields__ = fields
        return fields


def _first(name: str, write: Callable[[type], Any]) -> Any:
    """What stands in for a method until it is first called."""

    def method(self: Any, *values: Any, **named: Any) -> Any:
        # Where it stands, or what another thread has written meanwhile in its place.
        owner = next(cls for cls in type(self).__mro__ if hasattr(vars(cls).get(name), "is_late"))
        written = write(owner)
        setattr(owner, name, written)
        return written(self, *values, **named)

    method.is_late = True  # type: ignore[attr-defined]
    return method


def _write_init(cls: Any) -> Any:
    known: dict[str, Any] = {"MADE": _MADE, "assign": object.__setattr__}
    is_frozen = cls.__setattr__ is _refuse_to_set
    positional: list[str] = []
    named: list[str] = []
    body: list[str] = []
    for field in dataclasses.fields(cls):
        name = value = argument = field.name
        if field.default_factory is not dataclasses.MISSING:
            known[f"make_{name}"] = field.default_factory
            argument = f"{name}=MADE"
            value = f"make_{name}() if {name} is MADE else {name}"
        elif field.default is not dataclasses.MISSING:
            known[f"default_{name}"] = field.default
            argument = f"{name}=default_{name}"
        (named if field.kw_only else positional).append(argument)
        body.append(f"assign(self, {name!r}, {value})" if is_frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    arguments = ["self", *positional, *(["*", *named] if named else [])]
    return _compiled(cls, f"__init__({', '.join(arguments)})", body, known)


def _write_eq(cls: Any) -> Any:
    compared = [field.name for field in dataclasses.fields(cls) if field.compare]
    own, others = (_tuple_of(each, compared) for each in ("self", "other"))
    body = [f"return {own} == {others} if other.__class__ is self.__class__ else NotImplemented"]
    return _compiled(cls, "__eq__(self, other)", body, {})


def _write_hash(cls: Any) -> Any:
    hashed = [each.name for each in dataclasses.fields(cls) if (each.compare if each.hash is None else each.hash)]
    return _compiled(cls, "__hash__(self)", [f"return hash({_tuple_of('self', hashed)})"], {})


def _tuple_of(owner: str, names: list[str]) -> str:
    return f"({''.join(f'{owner}.{name},' for name in names)})"


def _compiled(cls: type, head: str, body: list[str], known: dict[str, Any]) -> Any:
    exec("\n    ".join([f"def {head}:", *(body or ["pass"])]), known)
    function = known[head.partition("(")[0]]
    function.__qualname__ = f"{cls.__qualname__}.{function.__name__}"
    function.is_late = True
    return function


def _repr(self: Any) -> str:
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


_MADE = object()
_first_init = _first("__init__", _write_init)
_first_eq = _first("__eq__", _write_eq)
_first_hash = _first("__hash__", _write_hash)
