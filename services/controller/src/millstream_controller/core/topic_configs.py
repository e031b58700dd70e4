"""Checks of one configuration value, as refusals."""

from millstream_cluster.configs import ConfigError, Value, validate
from millstream_cluster.records import ResourceType
from millstream_controller.core.refusal import Refused
from millstream_wire.errors import ErrorCode


def check_config(resource_type: ResourceType, key: str, value: str) -> Value:
    """The parsed value; an unknown key or a bad value is refused with INVALID_CONFIG."""
    try:
        return validate(resource_type, key, value)
    except ConfigError as error:
        raise Refused(ErrorCode.INVALID_CONFIG, str(error)) from error


def check_topic_config(key: str, value: str) -> Value:
    return check_config(ResourceType.TOPIC, key, value)
