"""A group id belongs to one protocol at a time; a group of the other one is taken over when nobody is in it (KIP-848's
offline migration). Its offsets stay.
"""

from millstream_cluster.decision import Decision
from millstream_coordinator.core.consumer.group import ConsumerGroup
from millstream_coordinator.core.consumer.messages import Refused
from millstream_coordinator.core.records import GroupRemoved, ShardRecord
from millstream_coordinator.core.shard import Shard
from millstream_wire.errors import ErrorCode


def enter(shard: Shard, group_id: str, *, may_begin: bool) -> tuple[tuple[ShardRecord, ...], ConsumerGroup]:
    """The consumer group of this id, a new one if it may begin; and the end of an unused classic group in its place."""
    group = shard.consumers.get(group_id)
    if group is not None:
        return (), group
    classic = shard.groups.get(group_id)
    if classic is not None and not classic.is_unused:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    if not may_begin:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
    removed = (GroupRemoved(group_id),) if group_id in shard.stored else ()
    return removed, ConsumerGroup(group_id)


def make_room_for_classic(shard: Shard, group_id: str) -> Decision[ShardRecord, ErrorCode]:
    """Somebody joins by the classic protocol: end the consumer group of that id, unless it has members."""
    group = shard.consumers.get(group_id)
    if group is None:
        return Decision((), ErrorCode.NONE)
    if group.members:
        return Decision((), ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    shard.sessions.forget_group(group_id)
    return Decision(tuple(group.tombstones()), ErrorCode.NONE)
