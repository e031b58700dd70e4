"""Whether a produced batch may be appended, and whether it may be acknowledged: acks, ISR, whose topic it is, what comes first.

What the batch itself has to be is `validation`'s to say, what its producer may send next the log's. Refusals come in Kafka's order.
"""

from collections.abc import Sequence
from typing import Final

from mypy_extensions import i64

from millstream_broker.core.appends.refused_batches import Key, RefusedBatches
from millstream_broker.core.appends.shard_fence import shard_refusal
from millstream_broker.core.appends.validation import Refused, validate
from millstream_broker.core.partition.standing import Partition
from millstream_broker.core.topic_settings import TopicSettings
from millstream_cluster.members import Shard
from millstream_log import TopicPartition
from millstream_wire.errors import ErrorCode
from millstream_wire.records import BatchHeader

ACKS_ALL: Final = -1
_ACKS_LEADER: Final = 1


def admit(
    batch: memoryview | bytearray | bytes | None,
    acks: i64,
    partition: Partition,
    settings: TopicSettings,
    name: TopicPartition,
    *,
    version: i64,
    now_ms: i64,
    is_internal: bool,
    from_coordinator: bool,
    transactional: bool,
) -> BatchHeader:
    """The header of a batch that may be appended to this partition; raises `Refused`.

    `is_internal`: the topic is the coordinators' own; `transactional`: the request names a transactional id.
    """
    if acks < ACKS_ALL or acks > _ACKS_LEADER:
        raise Refused(ErrorCode.INVALID_REQUIRED_ACKS, "acks must be 0, 1 or -1")
    if is_internal and not from_coordinator:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name.topic} is written by coordinators only")
    if acks == ACKS_ALL and not _has_enough_in_sync(partition, settings):
        raise Refused(ErrorCode.NOT_ENOUGH_REPLICAS, f"{len(partition.isr)} replicas are in sync")
    header = validate(batch, settings, name, version=version, now_ms=now_ms, trusted=is_internal)
    if header.is_transactional and not transactional:
        raise Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "A transactional batch without transactional id")
    return header


def check_fence(header: BatchHeader, shard: Shard | None, producer_ids: Sequence[int]) -> None:
    """Refuse who does not own the shard; `producer_ids`: those that its log remembers."""
    is_remembered = header.producer_id in producer_ids
    code = shard_refusal(header, shard, highest_id=max(producer_ids, default=-1), is_remembered=is_remembered)
    if code is not ErrorCode.NONE:
        raise Refused(code, f"Producer {header.producer_id} with epoch {header.producer_epoch} does not own the shard")


def check_order(header: BatchHeader, key: Key, refused: RefusedBatches, *, is_remembered: bool, now_ms: int) -> None:
    """Refuse a batch whose producer has one before it that was refused in passing and will come again."""
    if is_remembered:
        refused.forget(key)  # the log says what is next
    elif refused.is_behind(key, header.producer_epoch, header.base_sequence, now_ms):
        message = f"A batch before sequence {header.base_sequence} was refused and is to come first"
        raise Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)


def acknowledgement(partition: Partition, settings: TopicSettings) -> ErrorCode:
    """What a producer with acks=all is told once its batch is committed: the ISR may have shrunk below what it relies on."""
    if _has_enough_in_sync(partition, settings):
        return ErrorCode.NONE
    return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def _has_enough_in_sync(partition: Partition, settings: TopicSettings) -> bool:
    # A topic cannot have more replicas in sync than it has replicas (KIP-966).
    return len(partition.isr) >= min(settings.min_insync_replicas, len(partition.replicas))
