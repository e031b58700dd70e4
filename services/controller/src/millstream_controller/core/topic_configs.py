"""Checks of configuration values, of one by itself and of a topic's together, as refusals."""

from collections.abc import Mapping

from millstream_cluster.configs import ConfigEntry, ConfigError, Value, validate
from millstream_cluster.records import ResourceType
from millstream_controller.core.refusal import Refused
from millstream_wire.errors import ErrorCode


def check_config(resource_type: ResourceType, key: str, value: str) -> Value:
    """The parsed value; an unknown key or a bad value is refused as Kafka does, for brokers with an error of its own."""
    try:
        return validate(resource_type, key, value)
    except ConfigError as error:
        raise Refused(_code(resource_type, key), str(error)) from error


def _code(resource_type: ResourceType, key: str) -> ErrorCode:
    if resource_type is ResourceType.BROKER:
        return ErrorCode.INVALID_REQUEST
    if resource_type is ResourceType.CLIENT_METRICS and key != "match":
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.INVALID_CONFIG


def check_topic_config(key: str, value: str) -> Value:
    return check_config(ResourceType.TOPIC, key, value)


def check_topic_together(configs: Mapping[str, ConfigEntry]) -> None:
    """Values that are good by themselves may contradict each other."""
    least, most = configs["min.compaction.lag.ms"].value, configs["max.compaction.lag.ms"].value
    assert isinstance(least, int)
    assert isinstance(most, int)
    if least > most:
        message = f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        raise Refused(ErrorCode.INVALID_CONFIG, message)
