"""What a consumer group's members subscribe to, read from metadata that is otherwise theirs alone."""

from millstream_coordinator.core.classic.group import ClassicGroup, GroupState
from millstream_wire.codec import DecodeError, decode_embedded
from millstream_wire.stored import ConsumerProtocolSubscription

CONSUMER_PROTOCOL_TYPE = "consumer"


def subscribes(group: ClassicGroup, topic: str) -> bool:
    """Whether a member reads the topic, by what it says for the protocol that was chosen; when in doubt, yes."""
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE or group.state is GroupState.EMPTY:
        return False
    for member in group.members.values():
        topics = subscribed_topics(member.metadata(group.protocol))
        if topics is None or topic in topics:
            return True
    return False


def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    """The topics of a ConsumerProtocolSubscription; None if it is not one."""
    try:
        return frozenset(decode_embedded(ConsumerProtocolSubscription, metadata).topics)
    except DecodeError:
        return None
