"""One configuration key: its name, type, default, check and meaning, and how its text is read.

Values live as text everywhere (in the log, on the wire); this is the one place that turns text into a value.
"""

from collections.abc import Callable
from enum import Enum, IntEnum, StrEnum
from typing import TypeAlias, assert_never

from millstream_cluster.errors import ClusterError
from millstream_cluster.records import ResourceType
from millstream_wire.late_dataclass import dataclass

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | None

INT_MAX = (1 << 31) - 1
LONG_MAX = (1 << 63) - 1


class ConfigError(ClusterError):
    """A configuration name or value that is not acceptable; the message is for the person who sent it."""


class UnfitConfig(ConfigError):
    """One that Kafka calls an invalid request, not an invalid configuration."""


class ConfigType(IntEnum):
    """Types as DescribeConfigs numbers them."""

    UNKNOWN = 0
    """Of a key that is not in the table: whatever it is, its value is not shown."""
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class UpdateMode(StrEnum):
    """Whether a broker key can change while brokers run, and for whom."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class Unit(Enum):
    """How a broker's value counts towards a topic key in milliseconds: `log.retention.hours` is 3,600,000 of them."""

    ONE = 1
    MINUTES = 60_000
    HOURS = 3_600_000


@dataclass(frozen=True, slots=True)
class Synonym:
    """A broker key whose value serves where the topic has none of its own."""

    name: str
    unit: Unit = Unit.ONE

    def translate(self, text: str) -> str:
        """The broker's text in the topic key's unit; negative numbers mean "no limit" in every unit."""
        if self.unit is Unit.ONE or int(text) < 0:
            return text
        return str(int(text) * self.unit.value)


@dataclass(frozen=True, slots=True)
class WrongItem:
    """One item of a list that is not acceptable."""

    item: str
    what: str


Check: TypeAlias = Callable[[Value], str | WrongItem | None]
"""Returns what is wrong with a value or with one item of it, or None; it may raise a ConfigError of its own."""


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One row of the table that feeds validation, DescribeConfigs and the documentation.

    `default` None means unset. `synonyms` are in order of precedence, as Kafka resolves them.
    """

    name: str
    type: ConfigType
    default: str | None
    doc: str
    check: Check | None = None
    synonyms: tuple[Synonym, ...] = ()
    update_mode: UpdateMode = UpdateMode.CLUSTER_WIDE
    resource_type: ResourceType = ResourceType.TOPIC

    @property
    def sensitive(self) -> bool:
        return self.type in (ConfigType.PASSWORD, ConfigType.UNKNOWN)

    def parse(self, text: str | None) -> Value:
        """Read and check a value's text; ConfigError says what is wrong with it."""
        if text is None:
            return None
        value = self._read(text)
        match self.check(value) if self.check is not None else None:
            case None:
                return value
            case WrongItem(item="") as wrong:
                raise ConfigError(f"Configuration '{self.name}' values must not be empty.")
            case WrongItem() as wrong:
                raise self._wrong(wrong.item, wrong.what)
            case str() as wrong:
                raise self._wrong(_printed(value), wrong)

    def _read(self, given: str) -> Value:
        text = given.strip()
        match self.type:
            case ConfigType.BOOLEAN:
                if text.lower() not in ("true", "false"):
                    raise self._wrong(given, "Expected value to be either true or false")
                return text.lower() == "true"
            case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG:
                number = self._integer(text)
                if number is None:
                    raise self._not_a_number(given)
                return number
            case ConfigType.DOUBLE:
                try:
                    return float(text)
                except ValueError:
                    raise self._not_a_number(given) from None
            case ConfigType.LIST:
                return tuple(item.strip() for item in text.split(",")) if text else ()
            case ConfigType.STRING | ConfigType.CLASS | ConfigType.PASSWORD | ConfigType.UNKNOWN:
                return text
            case _:
                assert_never(self.type)

    def _integer(self, text: str) -> int | None:
        bits = {ConfigType.INT: 31, ConfigType.SHORT: 15}.get(self.type, 63)
        digits = text[1:] if text[:1] in ("-", "+") else text
        if not (digits.isascii() and digits.isdigit() and len(digits) < 25):
            return None
        value = int(text)
        return value if -(1 << bits) <= value < 1 << bits else None

    def _not_a_number(self, text: str) -> ConfigError:
        return self._wrong(text, f"Not a number of type {self.type.name}")

    def _wrong(self, text: str, what: str) -> ConfigError:
        return ConfigError(f"Invalid value {text} for configuration {self.name}: {what}")


def _printed(value: Value) -> str:
    return f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value)


def at_least(least: float) -> Check:
    return lambda value: (
        None if isinstance(value, int | float) and value >= least else f"Value must be at least {least}"
    )


def between(least: float, most: float) -> Check:
    def check(value: Value) -> str | None:
        if isinstance(value, int | float) and least <= value <= most:
            return None
        too_much = isinstance(value, int | float) and value > most
        return f"Value must be no more than {most}" if too_much else f"Value must be at least {least}"

    return check


def one_of(*allowed: str) -> Check:
    return lambda value: None if value in allowed else _not_one_of(allowed)


def some_of(*allowed: str, or_none: bool = False) -> Check:
    """A list of allowed items; at least one, unless there may be none. Naming one twice is naming it once, as in Kafka."""

    def check(value: Value) -> str | WrongItem | None:
        assert isinstance(value, tuple)
        if not value and not or_none:
            return "Configuration must not be empty"
        return next((WrongItem(item, _not_one_of(allowed)) for item in value if item not in allowed), None)

    return check


def _not_one_of(allowed: tuple[str, ...]) -> str:
    return f"String must be one of: {', '.join(allowed)}"


def throttled_replicas(name: str) -> Check:
    """`*`, or partition:broker pairs."""

    def check(value: Value) -> str | None:
        assert isinstance(value, tuple)
        if value in ((), ("*",)) or all(_is_pair(item) for item in value):
            return None
        pair = "[partitionId]:[brokerId]"
        return f"{name} must be the literal '*' or a list of replicas in the following format: {pair},{pair},..."

    return check


def _is_pair(text: str) -> bool:
    left, colon, right = text.partition(":")
    return bool(colon) and left.isdigit() and right.isdigit()
