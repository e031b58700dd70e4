"""Every message we declare, every version of it, filled with values by a seed: what the codec is tried with."""

import random
import uuid
from collections.abc import Iterator
from typing import Any

from millstream_wire import messages, stored
from millstream_wire.schema import OWN_TAGS, Array, Declared, Field, Fixed, Message, Sized, Stored, WireType, fields_at

MESSAGES: list[type[Message]] = [getattr(messages, name) for name in messages.__all__]
STORED: list[type[Stored]] = [getattr(stored, name) for name in stored.__all__]

BITS = {"b": 7, "h": 15, "i": 31, "q": 63, "H": 16}


def versions_of(cls: type[Declared]) -> range:
    first, last = cls.versions
    return range(first, last + 1)


def kafka_fields(cls: type[Any], version: int) -> list[Field]:
    """The fields that Kafka has in this version too."""
    return [field for field in fields_at(cls, version) if field.present and (field.tag or 0) < OWN_TAGS]


def generate(cls: type[Any], version: int, seed: int, *, plain: bool = False) -> Any:
    """A message with values in all fields that `version` has; `plain` ones fit an enum of errors and a calendar."""
    return Generator(random.Random(f"{cls.__name__} {version} {seed}"), version, plain=plain).struct(cls)


def examples(cls: type[Any], version: int, count: int, *, plain: bool = False) -> Iterator[Any]:
    """The message of defaults, then generated ones."""
    yield cls()
    for seed in range(count):
        yield generate(cls, version, seed, plain=plain)


class Generator:
    def __init__(self, source: random.Random, version: int, *, plain: bool) -> None:
        self._random, self._version, self._plain = source, version, plain

    def struct(self, cls: type[Any]) -> Any:
        return cls(**{f.name: self.value(f) for f in kafka_fields(cls, self._version)})

    def value(self, field: Field) -> Any:
        if field.nullable and self._random.random() < 0.25:
            return None
        if field.tag is not None and self._random.random() < 0.25:
            return field.default()
        if self._plain and (field.name.endswith("error_code") or field.name == "error"):
            return self._random.randrange(-1, 120)
        return self.of_type(field.type)

    def of_type(self, wire_type: WireType) -> Any:
        choose = self._random.choice
        match wire_type:
            case Fixed("?"):
                return choose([False, True])
            case Fixed("d"):
                return self._random.random()
            case Fixed("16s"):
                return uuid.UUID(int=self._random.getrandbits(128))
            case Fixed(code):
                return self.integer(code)
            case Sized("string"):
                return choose(["", "topic", "grüße", "x" * 126, "x" * 127, "x" * 300])
            case Sized():
                return self._random.randbytes(choose([0, 5, 126, 127, 300]))
            case Array(item):
                many = 200 if isinstance(item, Fixed) else 3
                return [self.of_type(item) for _ in range(choose([0, 1, many]))]
            case _:
                return self.struct(wire_type)

    def integer(self, code: str) -> int:
        if self._plain:
            return self._random.getrandbits(min(BITS[code], 36))
        if code == "H":
            return self._random.choice([0, 1, 0xFFFF])
        limit = 1 << BITS[code]
        return self._random.choice([0, 1, -1, limit - 1, -limit, self._random.randrange(-limit, limit)])
