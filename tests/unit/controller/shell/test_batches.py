from uuid import UUID

import pytest

from millstream_cluster.errors import RecordError
from millstream_cluster.metadata_version import NEWEST, OLDEST
from millstream_cluster.records import ClusterCreated, MetadataVersionSet, NodeRegistered, TopicDeleted
from millstream_controller.shell.batches import decode_records, encode_records, snapshot_batches
from millstream_wire.records import CorruptBatch, Record, decode_batches, encode_batch, parse_header

RECORDS = [TopicDeleted(UUID(int=number)) for number in range(3)]


def encode(records, base_offset=7, epoch=2, level=NEWEST):
    return encode_records(records, level=level, base_offset=base_offset, epoch=epoch, timestamp_ms=99, writer="w:1")


def test_records_are_ordinary_kafka_records_with_the_writer_in_the_first() -> None:
    batch = encode(RECORDS)
    header = parse_header(batch)
    assert (header.base_offset, header.next_offset, header.leader_epoch) == (7, 10, 2)
    first, second, _ = decode_batches(batch)
    assert first.key == b"TopicDeleted"
    assert first.headers == (("writer", b"w:1"),)
    assert second.headers == ()
    assert list(decode_records(batch)) == [(7, RECORDS[0]), (8, RECORDS[1]), (9, RECORDS[2])]


def test_large_batches_are_compressed() -> None:
    many = [TopicDeleted(UUID(int=number)) for number in range(5_000)]
    batch = encode(many)
    assert len(batch) < 100_000
    assert [record for _, record in decode_records(batch)] == many


def test_a_snapshot_is_read_back_whole() -> None:
    many = [ClusterCreated("c")] * 2_500
    data = b"".join(snapshot_batches(many, level=NEWEST, epoch=1, timestamp_ms=0))
    assert [record for _, record in decode_records(data)] == many
    assert list(snapshot_batches([], level=NEWEST, epoch=1, timestamp_ms=0)) == []


def test_a_batch_that_raises_the_level_may_use_it_at_once() -> None:
    """Commands that are decided together are appended together."""
    new = NodeRegistered(1, 9, UUID(int=8), (), None, log_dirs=(UUID(int=5),))
    records = [ClusterCreated("c"), MetadataVersionSet(NEWEST), new]
    assert [record for _, record in decode_records(encode(records, level=OLDEST))] == records
    with pytest.raises(RecordError, match="log_dirs needs"):
        encode([new, MetadataVersionSet(NEWEST)], level=OLDEST)


def test_damage_and_unknown_records_are_errors() -> None:
    damaged = bytearray(encode(RECORDS))
    damaged[-1] ^= 1
    with pytest.raises(CorruptBatch):
        list(decode_records(bytes(damaged)))
    unknown = encode_batch([Record(0, 0, b"FromTheFuture", b"{}")])
    with pytest.raises(RecordError, match="unknown"):
        list(decode_records(unknown))
