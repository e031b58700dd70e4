"""The aggregate job's configuration, a TOML file, checked once."""

import tomllib
from argparse import ArgumentTypeError
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from millstream_spark.errors import BadConfig
from millstream_spark.options import MAX_OFFSETS, copy_name, parse_starting_offsets, topic_name
from millstream_spark.trigger import Trigger, parse_trigger

EMITTED = ("final", "changes")
KINDS: Mapping[Any, tuple[type, str]] = {int: (int, "a number"), bool: (bool, "true or false")}


@dataclass(frozen=True, slots=True)
class Source:
    topic: str
    schema: str
    """Of the JSON object in each value, as Spark writes schemas: `customer STRING, amount DOUBLE`."""
    starting_offsets: str = "earliest"
    max_offsets_per_trigger: int = MAX_OFFSETS
    skip_deleted: bool = False
    """Go on behind records that were deleted before they were read."""
    kafka: Mapping[str, str] = field(default_factory=dict)
    """Settings of the consumer that reads."""


@dataclass(frozen=True, slots=True)
class Window:
    time: str
    """The column of the schema that says when; or `timestamp`, the record's own."""
    length: str
    watermark: str
    """How much later than the newest record one may come and still be counted."""
    keys: tuple[str, ...] = ()
    sums: tuple[str, ...] = ()
    tasks: int = 4
    """That hold the open windows, each a part of the keys. The first run decides for ever."""


@dataclass(frozen=True, slots=True)
class Result:
    topic: str
    emit: str = "final"
    """`final`: a window's totals once, when it is over; `changes`: each time they change."""
    slots: int = 1


@dataclass(frozen=True, slots=True)
class DeadLetters:
    topic: str


@dataclass(frozen=True, slots=True)
class AggregateConfig:
    name: str
    """Of this job alone, for ever: its sink, its group."""
    bootstrap_servers: str
    checkpoint: str
    source: Source
    window: Window
    result: Result
    dead_letters: DeadLetters
    trigger: str = "available-now"
    credentials: str | None = None

    @property
    def when(self) -> Trigger:
        return parse_trigger(self.trigger)


Section = TypeVar("Section")


def read_config(path: str) -> AggregateConfig:
    """Raises BadConfig."""
    try:
        words = tomllib.loads(Path(path).read_text())
    except OSError as error:
        raise BadConfig(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{path}: {error}") from None
    try:
        return _checked(_section(AggregateConfig, words, ""))
    except BadConfig as error:
        raise BadConfig(f"{path}: {error}") from None


def _checked(config: AggregateConfig) -> AggregateConfig:
    topics = (config.source.topic, config.result.topic, config.dead_letters.topic)
    for name, check in (
        ("name", lambda: copy_name(config.name)),
        ("source.topic", lambda: topic_name(config.source.topic)),
        ("result.topic", lambda: topic_name(config.result.topic)),
        ("dead_letters.topic", lambda: topic_name(config.dead_letters.topic)),
        (
            "source.starting_offsets",
            lambda: parse_starting_offsets(config.source.starting_offsets, config.source.topic),
        ),
        ("trigger", lambda: parse_trigger(config.trigger)),
    ):
        try:
            check()
        except (ValueError, ArgumentTypeError) as error:
            raise BadConfig(f"{name}: {error}") from None
    if config.result.emit not in EMITTED:
        raise BadConfig(f"result.emit is {config.result.emit!r}, not one of {', '.join(EMITTED)}")
    for name, number in (
        ("source.max_offsets_per_trigger", config.source.max_offsets_per_trigger),
        ("window.tasks", config.window.tasks),
        ("result.slots", config.result.slots),
    ):
        if number < 1:
            raise BadConfig(f"{name} is {number}, not a positive number")
    if len(set(topics)) < len(topics):
        raise BadConfig(f"source, result and dead letters are three topics, not {', '.join(topics)}")
    return config


def _section(kind: type[Section], words: Mapping[str, Any], name: str) -> Section:
    """Return the section with every word that its class has and no other."""
    hints = get_type_hints(kind)
    known = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    for word in words:
        if word not in known:
            raise BadConfig(f"{name}{word} is not known; known are {', '.join(known)}")
    values = {}
    for word, each in known.items():
        if word in words:
            values[word] = _value(hints[word], words[word], f"{name}{word}")
        elif each.default is MISSING and each.default_factory is MISSING:
            raise BadConfig(f"{name}{word} is missing")
    return kind(**values)


def _value(kind: Any, value: Any, name: str) -> Any:
    if kind in (Source, Window, Result, DeadLetters):
        if isinstance(value, dict):
            return _section(kind, value, f"{name}.")
        raise BadConfig(f"{name} is not a section: [{name}]")
    if kind == tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        raise BadConfig(f"{name} is not a list of names")
    if kind == Mapping[str, str]:
        if not isinstance(value, dict):
            raise BadConfig(f"{name} is not a section: [{name}]")
        for key, setting in value.items():
            if not isinstance(setting, str | int | float):
                raise BadConfig(f"{name}.{key} is neither text, number, true nor false: quote names with dots")
        return {key: str(setting) for key, setting in value.items()}
    wanted, told = KINDS.get(kind, (str, "a text"))
    # Python takes true for a number.
    if type(value) is not wanted:
        raise BadConfig(f"{name} is {value!r}, not {told}")
    return value
