"""Group configuration keys: what one consumer group may be told, over the broker's settings. A table, nothing else."""

from millstream_cluster.configs.key import ConfigKey, ConfigType, Synonym, at_least
from millstream_cluster.records import ResourceType


def _int(name: str, default: int, doc: str, least: int, synonym: str) -> ConfigKey:
    return ConfigKey(
        name,
        ConfigType.INT,
        str(default),
        doc,
        at_least(least),
        synonyms=(Synonym(synonym),),
        resource_type=ResourceType.GROUP,
    )


_KEYS = (
    _int(
        "consumer.session.timeout.ms",
        45_000,
        "How long a member of a consumer-protocol group may be silent before it is removed.",
        1,
        "group.consumer.session.timeout.ms",
    ),
    _int(
        "consumer.heartbeat.interval.ms",
        5_000,
        "How often members of a consumer-protocol group are told to send heartbeats.",
        1,
        "group.consumer.heartbeat.interval.ms",
    ),
    _int(
        "consumer.assignment.interval.ms",
        1_000,
        "The shortest time between two new assignments of a consumer-protocol group.",
        0,
        "group.consumer.assignment.interval.ms",
    ),
)

GROUP_CONFIGS = {key.name: key for key in _KEYS}
