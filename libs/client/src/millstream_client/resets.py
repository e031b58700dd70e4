"""A group's offsets moved elsewhere: where that would be, and doing it; where they were can be put back."""

from collections.abc import Mapping, Sequence

from millstream_client.assignment import TopicPartition
from millstream_client.cluster import Cluster
from millstream_client.errors import InvalidData, Refused
from millstream_client.groups import SHARE, Group, delete_offsets, describe_group, lags_of, set_offsets
from millstream_client.offsets import find_offsets, ranges_of
from millstream_cluster.offset_resets import Move, NowhereToCountFrom, ToTime, target_of
from millstream_wire.errors import ErrorCode

Offsets = Mapping[TopicPartition, int | None]
"""None where nothing was committed."""


async def group_or_none(cluster: Cluster, group_id: str) -> Group | None:
    """None for one that is not there: offsets can be given to it beforehand."""
    try:
        return await describe_group(cluster, group_id)
    except Refused as error:
        if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return None


async def committed_by(cluster: Cluster, group: Group | None) -> dict[TopicPartition, int | None]:
    """Of every partition that it has committed in or that one of its members has."""
    lags = await lags_of(cluster, group) if group is not None else []
    return {TopicPartition(each.topic, each.partition): each.committed for each in lags}


async def planned(
    cluster: Cluster, move: Move, wanted: Sequence[TopicPartition], now: Offsets
) -> dict[TopicPartition, int]:
    """Where each partition would go. Raises InvalidData if that cannot be said."""
    at_time = await find_offsets(cluster, dict.fromkeys(wanted, move.timestamp_ms)) if isinstance(move, ToTime) else {}
    try:
        return target_of(move, now, await ranges_of(cluster, wanted), at_time)
    except NowhereToCountFrom as error:
        raise InvalidData(str(error)) from None


def refuse_members(group: Group | None) -> None:
    """Members would commit where they are, whatever was set."""
    if group is not None and not group.is_empty:
        clients = ", ".join(sorted({each.client_id for each in group.members})) or "somebody"
        raise InvalidData(f"group {group.group_id} is {group.state} and has members ({clients}): stop them first")


async def move_to(cluster: Cluster, group: Group | None, group_id: str, offsets: Offsets) -> None:
    """None: as if nothing had been committed there."""
    target = {each: offset for each, offset in offsets.items() if offset is not None}
    if target:
        await set_offsets(cluster, group_id, target, is_share=group is not None and group.type == SHARE)
    forgotten = [each for each, offset in offsets.items() if offset is None]
    if forgotten:
        if group is not None and group.type == SHARE:
            raise InvalidData(f"{group_id} is a share group, whose offsets can be set but not deleted")
        await delete_offsets(cluster, group_id, forgotten)
