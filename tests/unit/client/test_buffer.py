"""What a reader sees of the batches that were fetched for it."""

import pytest

from millstream_client.buffer import PartitionBuffer
from millstream_client.errors import InvalidData
from millstream_wire.messages.fetch import AbortedTransaction
from millstream_wire.records import Compression, EndMarker, Record, encode_batch


def batch(base_offset: int, *values: str, producer_id: int = -1, compression: Compression = Compression.NONE) -> bytes:
    return encode_batch(
        [Record(0, 1000 + n, None, value.encode()) for n, value in enumerate(values)],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
        transactional=producer_id >= 0,
        compression=compression,
    )


def marker(offset: int, producer_id: int, *, committed: bool) -> bytes:
    record = EndMarker(committed=committed, coordinator_epoch=0).encode(2000)
    return encode_batch(
        [record], base_offset=offset, producer_id=producer_id, producer_epoch=0, transactional=True, control=True
    )


def values(buffer: PartitionBuffer) -> list[bytes | None]:
    seen = []
    while buffer:
        seen += [record.value for record in buffer.take()]
    return seen


def test_batches_are_unfolded_one_by_one() -> None:
    buffer = PartitionBuffer(0)
    buffer.add(memoryview(batch(0, "a", "b") + batch(2, "c", compression=Compression.LZ4)))
    assert (buffer.fetch_offset, buffer.position, len(buffer)) == (3, 0, 2)
    assert [record.offset for record in buffer.take()] == [0, 1]
    assert (buffer.fetch_offset, buffer.position) == (3, 2)
    assert [record.value for record in buffer.take()] == [b"c"]
    assert buffer.held_bytes == 0


def test_records_before_the_position_are_left_out() -> None:
    buffer = PartitionBuffer(1)
    buffer.add(memoryview(batch(0, "a", "b", "c")))
    assert values(buffer) == [b"b", b"c"]
    assert buffer.position == 3


def test_a_torn_batch_waits_for_the_next_fetch() -> None:
    whole = batch(0, "a")
    torn = batch(1, "b")
    buffer = PartitionBuffer(0)
    buffer.add(memoryview(whole + torn[:-1]))
    assert (values(buffer), buffer.fetch_offset) == ([b"a"], 1)


def test_what_is_held_already_is_not_taken_twice() -> None:
    buffer = PartitionBuffer(0)
    buffer.add(memoryview(batch(0, "a", "b")))
    buffer.add(memoryview(batch(0, "a", "b") + batch(2, "c")))
    assert values(buffer) == [b"a", b"b", b"c"]


def test_markers_are_not_messages() -> None:
    buffer = PartitionBuffer(0)
    buffer.add(memoryview(batch(0, "a", producer_id=7) + marker(1, 7, committed=False) + batch(2, "b")))
    assert values(buffer) == [b"a", b"b"]
    assert buffer.position == 3


def test_aborted_transactions_are_hidden_from_who_reads_committed() -> None:
    log = [
        batch(0, "aborted", producer_id=7),
        batch(1, "plain"),
        batch(2, "committed", producer_id=8),
        marker(3, 7, committed=False),
        marker(4, 8, committed=True),
        batch(5, "committed too", producer_id=7),
        marker(6, 7, committed=True),
    ]
    buffer = PartitionBuffer(0, committed_only=True)
    buffer.add(memoryview(b"".join(log)), [AbortedTransaction(producer_id=7, first_offset=0)])
    assert values(buffer) == [b"plain", b"committed", b"committed too"]
    assert buffer.position == 7


def test_an_abort_that_reaches_over_two_fetches() -> None:
    aborted = [AbortedTransaction(producer_id=7, first_offset=0)]
    buffer = PartitionBuffer(0, committed_only=True)
    buffer.add(memoryview(batch(0, "one", producer_id=7)), aborted)
    buffer.add(memoryview(batch(1, "two", producer_id=7) + marker(2, 7, committed=False)), aborted)
    buffer.add(memoryview(batch(3, "three", producer_id=7) + marker(4, 7, committed=True)))
    assert values(buffer) == [b"three"]


def test_damage_is_said_with_its_offset() -> None:
    garbled = bytearray(batch(5, "a"))
    garbled[-1] ^= 1
    buffer = PartitionBuffer(5)
    buffer.add(memoryview(garbled))
    with pytest.raises(InvalidData, match="at offset 5: the checksum"):
        buffer.take()
