"""Checks of one configuration value, as refusals."""

from millstream_cluster.configs import ConfigError, Value, validate
from millstream_cluster.records import ResourceType
from millstream_controller.core.refusal import Refused
from millstream_wire.errors import ErrorCode


def check_config(resource_type: ResourceType, key: str, value: str) -> Value:
    """The parsed value; an unknown key or a bad value is refused as Kafka does, for brokers with an error of its own."""
    try:
        return validate(resource_type, key, value)
    except ConfigError as error:
        code = ErrorCode.INVALID_REQUEST if resource_type is ResourceType.BROKER else ErrorCode.INVALID_CONFIG
        raise Refused(code, str(error)) from error


def check_topic_config(key: str, value: str) -> Value:
    return check_config(ResourceType.TOPIC, key, value)
