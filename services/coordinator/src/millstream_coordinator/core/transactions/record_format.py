"""Transactions in the bytes of `__transaction_state`: Kafka's own format, and beside it what only we keep.

Of key versions that other tools skip: our claims (as in `__consumer_offsets`), and 19798, an empty key, for the owner's term.
"""

import struct

from millstream_coordinator.core.journal.claim import CLAIM_KEY, ShardClaimed, decode_claim, encode_claim
from millstream_coordinator.core.transactions.records import (
    TermBegan,
    TransactionRecord,
    TransactionRemoved,
    TransactionStored,
)
from millstream_coordinator.core.transactions.transaction import Transaction, TransactionState
from millstream_wire.codec import DecodeError, decode_stored, encode_stored
from millstream_wire.stored import TransactionLogKey, TransactionLogValue
from millstream_wire.stored.transaction_log import PartitionsSchema

KEY_VERSION = 0
VALUE_VERSION = 1
TERM_KEY = 19_798
_TERM_VALUE = struct.Struct(">hi")
"""Version 0, coordinator epoch."""


def encode_transaction_record(record: TransactionRecord) -> tuple[bytes, bytes | None]:
    """The record's key and value; no value is a tombstone."""
    match record:
        case TransactionStored():
            return _key(record.transaction.transactional_id), encode_stored(_value(record.transaction), VALUE_VERSION)
        case TransactionRemoved():
            return _key(record.transactional_id), None
        case TermBegan():
            return TERM_KEY.to_bytes(2, "big"), _TERM_VALUE.pack(0, record.coordinator_epoch)
        case ShardClaimed():
            return encode_claim(record)


def decode_transaction_record(key: bytes | None, value: bytes | None) -> TransactionRecord | None:
    """Read a record; None if it is of a kind that this release does not keep. Malformed ones are a DecodeError."""
    if key is None or len(key) < 2:
        raise DecodeError("a record of a coordinator topic begins its key with a version")
    kind = int.from_bytes(key[:2], "big", signed=True)
    if kind == CLAIM_KEY and value is not None:
        return decode_claim(value)
    if kind == TERM_KEY and value is not None:
        return _term(value)
    if kind != KEY_VERSION:
        return None
    transactional_id = decode_stored(TransactionLogKey, key).transactional_id
    if value is None:
        return TransactionRemoved(transactional_id)
    return TransactionStored(_transaction(transactional_id, decode_stored(TransactionLogValue, value)))


def _term(value: bytes) -> TermBegan:
    try:
        return TermBegan(_TERM_VALUE.unpack(value)[1])
    except struct.error as error:
        raise DecodeError(f"term: {error}") from None


def _key(transactional_id: str) -> bytes:
    return encode_stored(TransactionLogKey(transactional_id=transactional_id), KEY_VERSION)


def _value(transaction: Transaction) -> TransactionLogValue:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(partition)
    partitions = [PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in topics.items()]
    return TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state.value,
        # As in Kafka, where no list at all is what says that there is no transaction.
        transaction_partitions=None if transaction.state is TransactionState.EMPTY else partitions,
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
        client_transaction_version=transaction.client_version,
    )


def _transaction(transactional_id: str, value: TransactionLogValue) -> Transaction:
    try:
        state = TransactionState(value.transaction_status)
    except ValueError:
        raise DecodeError(f"transaction {transactional_id} has status {value.transaction_status}") from None
    partitions = frozenset(
        (topic.topic, partition) for topic in value.transaction_partitions or () for partition in topic.partition_ids
    )
    return Transaction(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_version=value.client_transaction_version,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        partitions=partitions,
        start_ms=value.transaction_start_timestamp_ms,
        updated_ms=value.transaction_last_update_timestamp_ms,
    )
