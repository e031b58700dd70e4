"""Which value a configuration has in the end, and where it comes from, as DescribeConfigs reports it.

Precedence for a topic key: the topic's own; then each of its broker synonyms in order, set for this broker, for all
brokers, or in this process's properties; then the default.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import dropwhile
from typing import TypeAlias

from millstream_cluster.configs.broker import BROKER_CONFIGS
from millstream_cluster.configs.client_metrics import CLIENT_METRICS_CONFIGS
from millstream_cluster.configs.group import GROUP_CONFIGS
from millstream_cluster.configs.key import ConfigError, ConfigKey, ConfigType, Synonym, UnfitConfig, UpdateMode, Value
from millstream_cluster.configs.topic import TOPIC_CONFIGS
from millstream_cluster.image import Image
from millstream_cluster.records import ResourceType
from millstream_wire.late_dataclass import dataclass


class ConfigSource(IntEnum):
    """Where a value comes from, as DescribeConfigs numbers it."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


Found: TypeAlias = tuple[str, str | None, ConfigSource]


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A key's value in the end. `synonyms` are what Kafka tells of where it is from, as (name, value, source)."""

    key: ConfigKey
    text: str | None
    source: ConfigSource
    synonyms: tuple[Found, ...]

    @property
    def read_only(self) -> bool:
        return self.key.resource_type is ResourceType.BROKER and self.key.update_mode is UpdateMode.READ_ONLY

    @property
    def value(self) -> Value:
        return self.key.parse(self.text)

    @property
    def described_source(self) -> ConfigSource:
        """As DescribeConfigs has it: what Kafka leaves out of the synonyms, log.retention.hours above all, is a default."""
        return self.synonyms[0][2] if self.synonyms else ConfigSource.DEFAULT_CONFIG


TABLES: Mapping[ResourceType, Mapping[str, ConfigKey]] = {
    ResourceType.TOPIC: TOPIC_CONFIGS,
    ResourceType.BROKER: BROKER_CONFIGS,
    ResourceType.GROUP: GROUP_CONFIGS,
    ResourceType.CLIENT_METRICS: CLIENT_METRICS_CONFIGS,
}


def config_key(resource_type: ResourceType, name: str) -> ConfigKey:
    """Find a key's row; an unknown name is a ConfigError."""
    key = TABLES[resource_type].get(name)
    if key is None:
        if resource_type is ResourceType.CLIENT_METRICS:
            raise UnfitConfig(f"Unknown client metrics configuration: {name}")
        raise ConfigError(f"Unknown {resource_type.value.lower()} config name: {name}")
    return key


def validate(resource_type: ResourceType, name: str, text: str) -> Value:
    """The value of a key's text; a ConfigError if the name or the value is not acceptable."""
    return config_key(resource_type, name).parse(text)


class EffectiveConfigs:
    """Configurations as one node resolves them: the Image's dynamic ones over this process's properties."""

    def __init__(self, image: Image, static: Mapping[str, str], broker_id: int | None = None) -> None:
        self._image = image
        self._static = static
        self._broker_id = broker_id

    def topic(self, topic: str) -> dict[str, ConfigEntry]:
        """Every topic key's entry for this topic."""
        return self.topic_with(self._image.config(ResourceType.TOPIC, topic))

    def topic_with(self, own: Mapping[str, str]) -> dict[str, ConfigEntry]:
        """Every topic key's entry for a topic that has these configs of its own."""
        return {
            key.name: self._entry(key, own.get(key.name), ConfigSource.DYNAMIC_TOPIC_CONFIG)
            for key in TOPIC_CONFIGS.values()
        }

    def topic_values(self, topic: str) -> dict[str, Value]:
        """Every topic key's parsed value for this topic."""
        return {name: entry.value for name, entry in self.topic(topic).items()}

    def topic_value(self, topic: str, name: str) -> Value:
        own = self._image.config(ResourceType.TOPIC, topic).get(name)
        return self._entry(TOPIC_CONFIGS[name], own, ConfigSource.DYNAMIC_TOPIC_CONFIG).value

    def group(self, group_id: str) -> dict[str, ConfigEntry]:
        return self._own(ResourceType.GROUP, group_id, ConfigSource.GROUP_CONFIG)

    def client_metrics(self, subscription: str) -> dict[str, ConfigEntry]:
        return self._own(ResourceType.CLIENT_METRICS, subscription, ConfigSource.CLIENT_METRICS_CONFIG)

    def broker(self) -> dict[str, ConfigEntry]:
        """Every broker key's entry for this broker (without one: for all brokers)."""
        keys = [*BROKER_CONFIGS.values(), *(_unknown(name) for name in sorted(self._unknown_to_brokers()))]
        return {key.name: self._entry(key, None, ConfigSource.DEFAULT_CONFIG) for key in keys}

    def broker_value(self, name: str) -> Value:
        return self._entry(BROKER_CONFIGS[name], None, ConfigSource.DEFAULT_CONFIG).value

    def _own(self, kind: ResourceType, name: str, source: ConfigSource) -> dict[str, ConfigEntry]:
        own = self._image.config(kind, name)
        return {key.name: self._entry(key, own.get(key.name), source) for key in TABLES[kind].values()}

    def _entry(self, key: ConfigKey, own: str | None, own_source: ConfigSource) -> ConfigEntry:
        mine = [] if own is None else [(key.name, own, own_source)]
        names = _names(key)
        inherited = [each for name in names for each in self._set_on_broker(name)]
        own_names = (key.name,) if key.resource_type is ResourceType.BROKER else names
        found = [*mine, *(each for each in inherited if each[0] in own_names)]
        if found:
            name, text, source = found[0]
            synonym = next((each for each in key.synonyms if each.name == name != key.name), Synonym(name))
            chosen = synonym.translate(text) if text is not None else None
        else:
            chosen, source = key.default, ConfigSource.DEFAULT_CONFIG
        return ConfigEntry(key, chosen, source, (*mine, *self._told(key, names, inherited)))

    def _told(self, key: ConfigKey, names: Sequence[str], inherited: list[Found]) -> Iterable[Found]:
        """What brokers have under a key's names, by where it is from; Kafka begins with the first that has the main name."""
        if key.resource_type is ResourceType.GROUP and not names:
            return [(key.name, key.default, ConfigSource.DEFAULT_CONFIG)] if key.default is not None else []
        if key.resource_type is ResourceType.BROKER and self._broker_id is None:
            return [each for each in inherited if each[2] is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG]
        keys = [BROKER_CONFIGS[name] for name in names if name in BROKER_CONFIGS]
        defaults = [(each.name, each.default, ConfigSource.DEFAULT_CONFIG) for each in keys if each.default is not None]
        main = key.name if key.resource_type is ResourceType.BROKER or not names else names[0]
        found = sorted(inherited, key=lambda each: each[2]) + defaults
        return dropwhile(lambda each: each[0] != main, found)

    def _unknown_to_brokers(self) -> set[str]:
        """Names that somebody set though no broker reads them, as tools do that were made for Kafka's brokers."""
        own = "" if self._broker_id is None else str(self._broker_id)
        dynamic = {name for broker in ("", own) for name in self._image.config(ResourceType.BROKER, broker)}
        return dynamic - BROKER_CONFIGS.keys()

    def _set_on_broker(self, name: str) -> Iterator[Found]:
        places = [
            (self._image.config(ResourceType.BROKER, ""), ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            (self._static, ConfigSource.STATIC_BROKER_CONFIG),
        ]
        if self._broker_id is not None:
            own = self._image.config(ResourceType.BROKER, str(self._broker_id))
            places.insert(0, (own, ConfigSource.DYNAMIC_BROKER_CONFIG))
        for values, source in places:
            if name in values:
                yield name, values[name], source


def _unknown(name: str) -> ConfigKey:
    return ConfigKey(
        name, ConfigType.UNKNOWN, None, "", update_mode=UpdateMode.READ_ONLY, resource_type=ResourceType.BROKER
    )


def _names(key: ConfigKey) -> Sequence[str]:
    if key.resource_type is ResourceType.BROKER:
        return _SHARED_NAMES.get(key.name, (key.name,))
    return [synonym.name for synonym in key.synonyms]


_SHARED_NAMES = {
    synonym.name: tuple(each.name for each in key.synonyms)
    for key in TOPIC_CONFIGS.values()
    for synonym in key.synonyms
    if synonym.name != "log.flush.scheduler.interval.ms"
}
"""By a broker's key, whose values it is told with; how often is looked is a key by itself."""
