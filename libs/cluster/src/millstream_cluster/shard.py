"""Which partition of a coordinator topic keeps a group: the same arithmetic as Kafka's, bit for bit."""

from uuid import UUID

from millstream_cluster.ids import parse_uuid, uuid_text

_INT_MIN = -(1 << 31)


def java_hash(text: str) -> int:
    """Java's `String.hashCode`: over UTF-16 code units, in 32-bit signed arithmetic."""
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(units), 2):
        value = (31 * value + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def shard_of(group_id: str, partitions: int) -> int:
    """The partition that keeps this group (or transactional id, or share partition's key) among `partitions`."""
    value = java_hash(group_id)
    # Java's abs has no answer for the least integer; Kafka takes 0 for it.
    return (0 if value == _INT_MIN else abs(value)) % partitions


def share_key(group_id: str, topic_id: UUID, partition: int) -> str:
    """By what the state of a share partition is looked for: the state of one group in one partition."""
    return f"{group_id}:{uuid_text(topic_id)}:{partition}"


def is_share_key(key: str) -> bool:
    """Whether it could be what `share_key` made; a group's id may have colons itself."""
    group_id, _, rest = key.rpartition(":")
    group_id, _, topic_id = group_id.rpartition(":")
    try:
        parse_uuid(topic_id)
    except ValueError:
        return False
    return bool(group_id) and rest.isascii() and rest.isdigit()
