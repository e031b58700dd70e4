"""Group configuration keys: what one group may be told, over the broker's settings. A table, and what must hold between its keys.

Keys that begin with `consumer.` are Kafka's and hold for the consumer protocol; the others are Millstream's own and hold for
groups of either protocol.
"""

from collections.abc import Mapping

from millstream_cluster.configs.key import (
    Check,
    ConfigError,
    ConfigKey,
    ConfigType,
    Synonym,
    at_least,
    one_of,
)
from millstream_cluster.records import ResourceType

_B, _S, _I, _LIST = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LIST


def _key(
    name: str, kind: ConfigType, default: str | None, doc: str, check: Check | None = None, *synonyms: Synonym
) -> ConfigKey:
    return ConfigKey(name, kind, default, doc, check, synonyms=synonyms, resource_type=ResourceType.GROUP)


_HEARTBEAT, _SESSION = "consumer.heartbeat.interval.ms", "consumer.session.timeout.ms"

_KEYS = (
    _key(_SESSION, _I, "45000", "How long a member of a consumer-protocol group may be silent before it is removed.", at_least(1), Synonym("group.consumer.session.timeout.ms")),
    _key(_HEARTBEAT, _I, "5000", "How often members of a consumer-protocol group are told to send heartbeats.", at_least(1), Synonym("group.consumer.heartbeat.interval.ms")),
    _key("consumer.assignment.interval.ms", _I, "1000", "The shortest time between two new assignments of a consumer-protocol group.", at_least(0), Synonym("group.consumer.assignment.interval.ms")),
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
    for least, most in ((_HEARTBEAT, _SESSION), ("min.session.timeout.ms", "max.session.timeout.ms")):
        low, high = _number(least, own, static), _number(most, own, static)
        if low > high or (low == high and least == _HEARTBEAT):
            relation = "less than" if least == _HEARTBEAT else "at most"
            raise ConfigError(f"{least} ({low}) must be {relation} {most} ({high})")


def _number(name: str, own: Mapping[str, str], static: Mapping[str, str]) -> int:
    key = GROUP_CONFIGS[name]
    text = own.get(name, static.get(key.synonyms[0].name, key.default))
    assert text is not None
    return int(text)
