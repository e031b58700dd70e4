"""Who reads a partition up to where, and which followers may read it at all.

"Committed" has two meanings for readers: a consumer sees what is on all of the ISR (before the high watermark); one with the
isolation level read_committed sees only what is not in an open transaction, too (before the last stable offset).
"""

from enum import Enum
from typing import Final

from millstream_broker.core.partition.standing import NO_EPOCH, Partition
from millstream_wire.errors import ErrorCode

READ_COMMITTED: Final = 1
"""The isolation level, as requests have it."""


class Bound(Enum):
    LOG_END = "log end"
    HIGH_WATERMARK = "high watermark"
    LAST_STABLE_OFFSET = "last stable offset"


def is_follower(replica_id: int) -> bool:
    """Consumers say -1, debugging tools other negative numbers; they are consumers too."""
    return replica_id >= 0


def bound_of(replica_id: int, isolation_level: int) -> Bound:
    """Up to where somebody reads; a follower copies whatever there is, whatever isolation level it says."""
    if is_follower(replica_id):
        return Bound.LOG_END
    return Bound.LAST_STABLE_OFFSET if isolation_level == READ_COMMITTED else Bound.HIGH_WATERMARK


def follower_refusal(
    partition: Partition,
    replica_id: int,
    *,
    is_itself: bool,
    broker_epoch: int,
    registered_epoch: int | None,
    current_leader_epoch: int,
) -> ErrorCode:
    """Why this node may not copy the partition; NONE if it is one of its replicas, in its present life (KIP-903).

    Anybody can say a replica id, so `is_itself`: the connection is that broker's. One that the partition does not have may be ahead of the metadata that is known here, and asks
    again; so does a broker whose registration is newer or older than the one that is known.
    """
    if not is_itself:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if replica_id not in partition.replicas:
        is_known_epoch = current_leader_epoch != NO_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH if is_known_epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.NONE if broker_epoch == registered_epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER
