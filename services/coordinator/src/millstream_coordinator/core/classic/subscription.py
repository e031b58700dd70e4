"""What a consumer group's members subscribe to, read from metadata that is otherwise theirs alone."""

import struct

from millstream_coordinator.core.classic.group import ClassicGroup, GroupState

CONSUMER_PROTOCOL_TYPE = "consumer"


def subscribes(group: ClassicGroup, topic: str) -> bool:
    """Whether a member reads the topic; when in doubt, yes."""
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE or group.state is GroupState.EMPTY:
        return False
    for member in group.members.values():
        for protocol in member.protocols:
            topics = subscribed_topics(protocol.metadata)
            if topics is None or topic in topics:
                return True
    return False


def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    """The topics of a ConsumerProtocolSubscription (every version begins alike); None if it is not one."""
    try:
        _version, count = struct.unpack_from(">hi", metadata)
        position, topics = 6, set()
        if count * 2 > len(metadata):
            return None
        for _ in range(count):
            (length,) = struct.unpack_from(">h", metadata, position)
            end = position + 2 + length
            if length < 0 or end > len(metadata):
                return None
            topics.add(metadata[position + 2 : end].decode())
            position = end
    except (struct.error, UnicodeDecodeError):
        return None
    return frozenset(topics)
