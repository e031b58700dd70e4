"""`__share_group_state`: how far a share group has come in a partition, and what became of the records from there on."""

from millstream_wire.schema import (
    ZERO_UUID,
    Stored,
    field,
    int8,
    int16,
    int32,
    int64,
    stored,
    string,
    struct,
    uuid128,
)


@stored(versions=(0, 0), flexible=None)
class ShareSnapshotKey(Stored):
    group_id: string = ""
    topic_id: uuid128 = ZERO_UUID
    partition: int32 = 0


@struct
class StateBatch:
    first_offset: int64 = 0
    last_offset: int64 = 0
    delivery_state: int8 = 0
    delivery_count: int16 = 0


@stored(versions=(0, 0), flexible=0)
class ShareSnapshotValue(Stored):
    """`delivery_complete_count` is there since Kafka 4.2 (KIP-1226)."""

    snapshot_epoch: int32 = 0
    state_epoch: int32 = 0
    leader_epoch: int32 = 0
    start_offset: int64 = 0
    delivery_complete_count: int32 = field(default=-1, tag=0)
    create_timestamp: int64 = 0
    write_timestamp: int64 = 0
    state_batches: list[StateBatch] = field(default_factory=list)
