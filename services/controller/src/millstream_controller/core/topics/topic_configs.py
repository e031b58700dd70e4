"""Checks of configuration values, of each by itself and of a topic's together, as refusals."""

from collections.abc import Mapping

from millstream_cluster.configs import ConfigEntry, ConfigError, UnfitConfig, config_key
from millstream_cluster.records import ResourceType
from millstream_controller.core.refusal import Refused
from millstream_wire.errors import ErrorCode


def check_configs(resource_type: ResourceType, configs: Mapping[str, str]) -> None:
    """Refuse unknown keys, then bad values, as Kafka does, for brokers with an error of its own."""
    try:
        keys = {config_key(resource_type, name): value for name, value in configs.items()}
        for key, value in keys.items():
            key.parse(value)
    except ConfigError as error:
        unfit = resource_type is ResourceType.BROKER or isinstance(error, UnfitConfig)
        raise Refused(ErrorCode.INVALID_REQUEST if unfit else ErrorCode.INVALID_CONFIG, str(error)) from error


def check_topic_together(configs: Mapping[str, ConfigEntry]) -> None:
    """Values that are good by themselves may contradict each other."""
    least, most = configs["min.compaction.lag.ms"].value, configs["max.compaction.lag.ms"].value
    assert isinstance(least, int)
    assert isinstance(most, int)
    if least > most:
        message = f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        raise Refused(ErrorCode.INVALID_CONFIG, message)
