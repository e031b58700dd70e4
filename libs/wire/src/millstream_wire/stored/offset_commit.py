"""`__consumer_offsets`: how far a group has read a partition. Kafka 4.3 writes value version 4."""

from millstream_wire.schema import ZERO_UUID, Stored, field, int32, int64, stored, string, uuid128


@stored(versions=(0, 1), flexible=None)
class OffsetCommitKey(Stored):
    """Both versions are alike; 0 is what Kafka before 0.9 wrote."""

    group: string = ""
    topic: string = ""
    partition: int32 = 0


@stored(versions=(0, 4), flexible=4)
class OffsetCommitValue(Stored):
    offset: int64 = 0
    leader_epoch: int32 = field(default=-1, since=3)
    metadata: string = ""
    commit_timestamp: int64 = 0
    expire_timestamp: int64 = field(default=-1, since=1, until=1)
    topic_id: uuid128 = field(default=ZERO_UUID, since=4, tag=0)
