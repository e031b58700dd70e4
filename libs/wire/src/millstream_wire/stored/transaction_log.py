"""`__transaction_state`: a transactional id and its ongoing transaction."""

from millstream_wire.schema import Stored, field, int8, int16, int32, int64, stored, string, struct


@stored(versions=(0, 0), flexible=None)
class TransactionLogKey(Stored):
    transactional_id: string = ""


@struct
class PartitionsSchema:
    topic: string = ""
    partition_ids: list[int32] = field(default_factory=list)


@stored(versions=(0, 1), flexible=1)
class TransactionLogValue(Stored):
    producer_id: int64 = 0
    previous_producer_id: int64 = field(default=-1, since=1, tag=0)
    next_producer_id: int64 = field(default=-1, since=1, tag=1)
    producer_epoch: int16 = 0
    next_producer_epoch: int16 = field(default=-1, since=1, tag=3)
    transaction_timeout_ms: int32 = 0
    transaction_status: int8 = 0
    transaction_partitions: list[PartitionsSchema] | None = field(default_factory=list)
    transaction_last_update_timestamp_ms: int64 = 0
    transaction_start_timestamp_ms: int64 = 0
    client_transaction_version: int16 = field(default=0, since=1, tag=2)
