"""Keys of a client metrics subscription (KIP-714): which clients send which metrics, and how often. A table."""

import re

from millstream_cluster.configs.key import Check, ConfigError, ConfigKey, ConfigType, UnfitConfig, Value
from millstream_cluster.records import ResourceType

INTERVAL_MIN_MS, INTERVAL_MAX_MS = 100, 3_600_000
_SELECTORS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def _interval(value: Value) -> None:
    assert isinstance(value, int)
    if not INTERVAL_MIN_MS <= value <= INTERVAL_MAX_MS:
        limits = f"{INTERVAL_MIN_MS} and {INTERVAL_MAX_MS} (1 hour)"
        raise UnfitConfig(f"Invalid value {value} for interval.ms, interval must be between {limits}")


def _patterns(value: Value) -> None:
    assert isinstance(value, tuple)
    for item in value:
        selector, equals, pattern = item.partition("=")
        if not equals or selector.strip() not in _SELECTORS or not _compiles(pattern.strip()):
            raise ConfigError(f"Illegal client matching pattern: {item}")


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _key(name: str, kind: ConfigType, default: str, doc: str, check: Check | None = None) -> ConfigKey:
    return ConfigKey(name, kind, default, doc, check, resource_type=ResourceType.CLIENT_METRICS)


_KEYS = (
    _key("interval.ms", ConfigType.INT, "300000", "How often the clients send metrics.", _interval),
    _key("match", ConfigType.LIST, "", "Which clients: selector=pattern, all of them must match. Selectors are " + ", ".join(_SELECTORS) + ".", _patterns),
    _key("metrics", ConfigType.LIST, "", "Which metrics, by the beginnings of their names."),
)  # fmt: skip

CLIENT_METRICS_CONFIGS = {key.name: key for key in _KEYS}
