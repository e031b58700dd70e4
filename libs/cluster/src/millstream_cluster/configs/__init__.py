"""Configurations: one table of keys per resource type, their validation, and which value holds in the end."""

from millstream_cluster.configs.broker import BROKER_CONFIGS
from millstream_cluster.configs.client_metrics import CLIENT_METRICS_CONFIGS
from millstream_cluster.configs.effective import (
    TABLES,
    ConfigEntry,
    ConfigSource,
    EffectiveConfigs,
    config_key,
    validate,
)
from millstream_cluster.configs.group import GROUP_CONFIGS, check_group
from millstream_cluster.configs.key import (
    ConfigError,
    ConfigKey,
    ConfigType,
    Synonym,
    UnfitConfig,
    Unit,
    UpdateMode,
    Value,
)
from millstream_cluster.configs.topic import TOPIC_CONFIGS

__all__ = [
    "BROKER_CONFIGS",
    "CLIENT_METRICS_CONFIGS",
    "GROUP_CONFIGS",
    "TABLES",
    "TOPIC_CONFIGS",
    "ConfigEntry",
    "ConfigError",
    "ConfigKey",
    "ConfigSource",
    "ConfigType",
    "EffectiveConfigs",
    "Synonym",
    "UnfitConfig",
    "Unit",
    "UpdateMode",
    "Value",
    "check_group",
    "config_key",
    "validate",
]
