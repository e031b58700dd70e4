"""May this member commit, or read, the group's offsets? By its epoch."""

from collections.abc import Iterable

from millstream_coordinator.core.consumer.group import ConsumerGroup
from millstream_coordinator.core.group.partitions import TopicIdPartition
from millstream_wire.errors import ErrorCode

NO_EPOCH = -1


def commit_refusal(
    group: ConsumerGroup,
    member_id: str,
    member_epoch: int,
    partitions: Iterable[TopicIdPartition | None],
    *,
    knows_epochs: bool,
) -> ErrorCode:
    """Without an epoch only while the group is empty. One that is past is good for partitions that the member has had since
    then (KIP-1251): that the others' epoch went on is no reason to lose its progress. `knows_epochs`: the request's version
    has room for what it would be told.
    """
    if member_epoch < 0 and not group.members:
        return ErrorCode.NONE
    if member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    current = group.current(member_id)
    if group.members[member_id].classic is not None:
        return ErrorCode.NONE if member_epoch == current.epoch else ErrorCode.ILLEGAL_GENERATION
    if not knows_epochs:
        return ErrorCode.UNSUPPORTED_VERSION
    if member_epoch == current.epoch:
        return ErrorCode.NONE
    if member_epoch > current.epoch or member_epoch < 0:
        return ErrorCode.STALE_MEMBER_EPOCH
    had_since = {**current.assigned, **current.revoking}
    for partition in partitions:
        since = had_since.get(partition) if partition is not None else None
        if since is None or since > member_epoch:
            return ErrorCode.STALE_MEMBER_EPOCH
    return ErrorCode.NONE


def fetch_refusal(group: ConsumerGroup, member_id: str | None, member_epoch: int) -> ErrorCode:
    """Who does not say who it is may read; a member only in its epoch, so that it does not begin where another goes on."""
    if member_id is None and member_epoch < 0:
        return ErrorCode.NONE
    if member_id is None or member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if group.current(member_id).epoch == member_epoch else ErrorCode.STALE_MEMBER_EPOCH
