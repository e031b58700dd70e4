"""A group id belongs to one protocol at a time. A group of the other one is taken over when nobody is in it (KIP-848's
offline migration), or with those who are in it (`migration`). Its offsets stay.
"""

from millstream_cluster.decision import Decision
from millstream_cluster.image import Image
from millstream_cluster.records import ResourceType
from millstream_coordinator.core.classic.records import GroupRemoved
from millstream_coordinator.core.consumer.group import ConsumerGroup
from millstream_coordinator.core.consumer.limits import ConsumerLimits
from millstream_coordinator.core.group.heartbeats import Refused
from millstream_coordinator.core.group.sessions import GroupForgotten
from millstream_coordinator.core.group_shard.machine import GroupShard
from millstream_coordinator.core.group_shard.records import ShardRecord
from millstream_coordinator.core.migration.migration import can_upgrade, upgrade
from millstream_wire.errors import ErrorCode


def enter(
    shard: GroupShard, group_id: str, limits: ConsumerLimits, image: Image, *, may_begin: bool
) -> tuple[tuple[ShardRecord, ...], ConsumerGroup]:
    """The consumer group of this id, a new one if it may begin; and what turns the classic group in its place into it."""
    group = shard.consumers.get(group_id)
    if group is not None:
        return (), group
    if group_id in shard.shares:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    classic = shard.groups.get(group_id)
    is_live = classic is not None and not classic.is_unused
    if classic is not None and is_live and not (may_begin and can_upgrade(classic, limits)):
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
    if not may_begin:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
    removed = (GroupRemoved(group_id),) if group_id in shard.stored else ()
    group = ConsumerGroup(group_id)
    if classic is None or not is_live:
        return removed, group
    upgraded = tuple(upgrade(classic, image))
    for record in upgraded:
        group.apply(record)
    return (*removed, *upgraded), group


def limits_of(shard: GroupShard, group_id: str, image: Image) -> ConsumerLimits:
    return shard.limits.consumer.of_group(image.config(ResourceType.GROUP, group_id))


def make_room_for_classic(shard: GroupShard, group_id: str) -> Decision[ShardRecord, None]:
    """Somebody joins by the classic protocol: end the consumer group of that id, which has no members."""
    group = shard.consumers.get(group_id)
    if group is None:
        return Decision((), None)
    assert not group.members
    return Decision(tuple(group.tombstones()), None, (GroupForgotten(group_id),))
