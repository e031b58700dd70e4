"""Which value a configuration has in the end, and where it comes from, as DescribeConfigs reports it.

Precedence for a topic key: the topic's own; then each of its broker synonyms in order, set for this broker, for all
brokers, or in this process's properties; then the default.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from millstream_cluster.configs.broker import BROKER_CONFIGS
from millstream_cluster.configs.client_metrics import CLIENT_METRICS_CONFIGS
from millstream_cluster.configs.group import GROUP_CONFIGS
from millstream_cluster.configs.key import ConfigError, ConfigKey, ConfigType, Synonym, UnfitConfig, UpdateMode, Value
from millstream_cluster.configs.topic import TOPIC_CONFIGS
from millstream_cluster.image import Image
from millstream_cluster.records import ResourceType


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


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A key's value in the end. `synonyms` are every (name, value, source) that was considered, the winner first."""

    key: ConfigKey
    text: str | None
    source: ConfigSource
    synonyms: tuple[tuple[str, str | None, ConfigSource], ...]

    @property
    def read_only(self) -> bool:
        return self.key.resource_type is ResourceType.BROKER and self.key.update_mode is UpdateMode.READ_ONLY

    @property
    def value(self) -> Value:
        return self.key.parse(self.text)


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
        return {key.name: self._chosen(key, list(self._set_on_broker(key.name))) for key in keys}

    def broker_value(self, name: str) -> Value:
        return self._chosen(BROKER_CONFIGS[name], list(self._set_on_broker(name))).value

    def _own(self, kind: ResourceType, name: str, source: ConfigSource) -> dict[str, ConfigEntry]:
        own = self._image.config(kind, name)
        return {key.name: self._entry(key, own.get(key.name), source) for key in TABLES[kind].values()}

    def _entry(self, key: ConfigKey, own: str | None, own_source: ConfigSource) -> ConfigEntry:
        found: list[tuple[str, str | None, ConfigSource]] = []
        if own is not None:
            found.append((key.name, own, own_source))
        for synonym in key.synonyms:
            found += self._set_on_broker(synonym.name)
        return self._chosen(key, found)

    def _chosen(self, key: ConfigKey, found: list[tuple[str, str | None, ConfigSource]]) -> ConfigEntry:
        units = {synonym.name: synonym for synonym in key.synonyms}
        if found:
            name, text, source = found[0]
            synonym = units.get(name, Synonym(name)) if name != key.name else Synonym(name)
            chosen = synonym.translate(text) if text is not None else None
        else:
            chosen, source = key.default, ConfigSource.DEFAULT_CONFIG
        primary = _primary(key)
        if primary is not None and primary.default is not None:
            found = [*found, (primary.name, primary.default, ConfigSource.DEFAULT_CONFIG)]
        return ConfigEntry(key, chosen, source, tuple(found))

    def _unknown_to_brokers(self) -> set[str]:
        """Names that somebody set though no broker reads them, as tools do that were made for Kafka's brokers."""
        own = "" if self._broker_id is None else str(self._broker_id)
        dynamic = {name for broker in ("", own) for name in self._image.config(ResourceType.BROKER, broker)}
        return dynamic - BROKER_CONFIGS.keys()

    def _set_on_broker(self, name: str) -> Iterator[tuple[str, str | None, ConfigSource]]:
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


def _primary(key: ConfigKey) -> ConfigKey | None:
    """Whose default is told with the synonyms, as Kafka does: the first broker key's, or a broker's or group's key's own."""
    if key.synonyms:
        return BROKER_CONFIGS.get(key.synonyms[0].name)
    return key if key.resource_type in (ResourceType.BROKER, ResourceType.GROUP) else None
