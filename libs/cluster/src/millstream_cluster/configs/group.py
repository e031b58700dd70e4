"""Group configuration keys: what one group may be told, over the broker's settings. A table, and what must hold between its keys.

Keys that begin with `consumer.` are Kafka's and hold for the consumer protocol, those that begin with `share.` for share
groups; the others are Millstream's own and hold for groups of either protocol of consumers.
"""

from collections.abc import Mapping

from millstream_cluster.configs.broker import BROKER_CONFIGS
from millstream_cluster.configs.key import (
    Check,
    ConfigError,
    ConfigKey,
    ConfigType,
    Synonym,
    Value,
    at_least,
    one_of,
)
from millstream_cluster.configs.offset_reset import offset_reset_timestamp
from millstream_cluster.records import ResourceType

_B, _S, _I, _LIST = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LIST


def _key(
    name: str, kind: ConfigType, default: str | None, doc: str, check: Check | None = None, *synonyms: Synonym
) -> ConfigKey:
    return ConfigKey(name, kind, default, doc, check, synonyms=synonyms, resource_type=ResourceType.GROUP)


def _reset(value: Value) -> str | None:
    if isinstance(value, str) and offset_reset_timestamp(value, 0) is not None:
        return None
    return (
        f"Invalid value `{value}` for configuration share.auto.offset.reset. "
        "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    )


_HEARTBEAT, _SESSION = "consumer.heartbeat.interval.ms", "consumer.session.timeout.ms"
_SHARE_HEARTBEAT, _SHARE_SESSION = "share.heartbeat.interval.ms", "share.session.timeout.ms"
_SHARE_BOUNDED = {
    _SHARE_SESSION: ("group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"),
    _SHARE_HEARTBEAT: ("group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"),
    "share.assignment.interval.ms": (
        "group.share.min.assignment.interval.ms",
        "group.share.max.assignment.interval.ms",
    ),
    "share.delivery.count.limit": ("group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit"),
    "share.partition.max.record.locks": (
        "group.share.min.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    ),
    "share.record.lock.duration.ms": (
        "group.share.min.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
}
"""What a share group sets for itself has to be between these two of the brokers'."""

_KEYS = (
    _key(_SESSION, _I, "45000", "How long a member of a consumer-protocol group may be silent before it is removed.", at_least(1), Synonym("group.consumer.session.timeout.ms")),
    _key(_HEARTBEAT, _I, "5000", "How often members of a consumer-protocol group are told to send heartbeats.", at_least(1), Synonym("group.consumer.heartbeat.interval.ms")),
    _key("consumer.assignment.interval.ms", _I, "1000", "The shortest time between two new assignments of a consumer-protocol group.", at_least(0), Synonym("group.consumer.assignment.interval.ms")),
    _key(_SHARE_SESSION, _I, "45000", "How long a member of a share group may be silent before it is removed.", at_least(1), Synonym("group.share.session.timeout.ms")),
    _key(_SHARE_HEARTBEAT, _I, "5000", "How often members of a share group are told to send heartbeats.", at_least(1), Synonym("group.share.heartbeat.interval.ms")),
    _key("share.assignment.interval.ms", _I, "1000", "The shortest time between two new assignments of a share group.", at_least(0), Synonym("group.share.assignment.interval.ms")),
    _key("share.auto.offset.reset", _S, "latest", "Where a share group begins in a partition: latest, earliest, or by_duration:PnDTnHnMn.nS, that long ago.", _reset),
    _key("share.delivery.count.limit", _I, "5", "How often a record is delivered to a share group before it is given up.", at_least(2), Synonym("group.share.delivery.count.limit")),
    _key("share.isolation.level", _S, "read_uncommitted", "Whether a share group gets records of transactions before they are committed, and of those that are aborted.", one_of("read_committed", "read_uncommitted")),
    _key("share.partition.max.record.locks", _I, "2000", "How many records of a partition a share group may have under way: from the first that is not done to the last that was delivered.", at_least(100), Synonym("group.share.partition.max.record.locks")),
    _key("share.record.lock.duration.ms", _I, "30000", "How long a member of a share group has for the records that it was given, before others get them.", at_least(1), Synonym("group.share.record.lock.duration.ms")),
    _key("share.renew.acknowledge.enable", _B, "true", "Whether members of a share group may ask for more time for the records that they have."),
    _key("admission", _S, "open", "Who may join: open, anybody; declared, whoever subscribes to topics of admission.topics only; closed, nobody. Members that are in stay; who is refused is told GROUP_AUTHORIZATION_FAILED. Millstream's own.", one_of("open", "declared", "closed")),
    _key("admission.topics", _LIST, "", "The topics that members may subscribe to where admission is declared; of a regular expression's topics the others are left out. Millstream's own."),
    _key("drain", _B, "false", "While true, members give up their partitions, then are told GROUP_AUTHORIZATION_FAILED and are out, and nobody may join. Millstream's own."),
    _key("max.session.timeout.ms", _I, "1800000", "The longest session timeout that a member of the classic protocol may ask for. Millstream's own.", at_least(1), Synonym("group.max.session.timeout.ms")),
    _key("max.size", _I, None, "The most members the group may have, of either protocol; unset, the coordinator's limit. Who is too many is told GROUP_MAX_SIZE_REACHED. Millstream's own.", at_least(1)),
    _key("min.session.timeout.ms", _I, "6000", "The shortest session timeout that a member of the classic protocol may ask for. Millstream's own.", at_least(1), Synonym("group.min.session.timeout.ms")),
    _key("offsets.initial", _S, "none", "Where the group begins in a partition without a committed offset: earliest or latest is committed for it when a member first asks; none leaves that to the client (auto.offset.reset). Millstream's own.", one_of("none", "earliest", "latest")),
    _key("offsets.retention.minutes", _I, "10080", "How long the offsets of this group are kept once nobody is in it. Millstream's own.", at_least(1), Synonym("offsets.retention.minutes")),
    _key("paused", _B, "false", "While true, members stay and have no partitions. Kafka Connect's and Kafka Streams' groups are not paused by it. Millstream's own."),
)  # fmt: skip

GROUP_CONFIGS = {key.name: key for key in _KEYS}


def check_group(own: Mapping[str, str], static: Mapping[str, str]) -> None:
    """Raise ConfigError if the values contradict each other; `static` are a node's properties."""
    for name, (least, most) in _SHARE_BOUNDED.items():
        if name in own:
            low, high = (int(static.get(bound, BROKER_CONFIGS[bound].default or "")) for bound in (least, most))
            if int(own[name]) < low:
                raise ConfigError(f"{name} must be greater than or equal to {least}")
            if int(own[name]) > high:
                raise ConfigError(f"{name} must be less than or equal to {most}")
    for least, most in (
        (_HEARTBEAT, _SESSION),
        (_SHARE_HEARTBEAT, _SHARE_SESSION),
        ("min.session.timeout.ms", "max.session.timeout.ms"),
    ):
        low, high = _number(least, own, static), _number(most, own, static)
        is_heartbeat = least in (_HEARTBEAT, _SHARE_HEARTBEAT)
        if low > high or (low == high and is_heartbeat):
            relation = "less than" if is_heartbeat else "at most"
            raise ConfigError(f"{least} ({low}) must be {relation} {most} ({high})")


def _number(name: str, own: Mapping[str, str], static: Mapping[str, str]) -> int:
    key = GROUP_CONFIGS[name]
    text = own.get(name, static.get(key.synonyms[0].name, key.default))
    assert text is not None
    return int(text)
