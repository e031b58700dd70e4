"""A partition with transactions: who may write to it, and what readers of committed records are given."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from millstream_wire.api import ApiKey
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    DescribeProducersRequest,
    EndTxnRequest,
    FetchRequest,
    ListOffsetsRequest,
    ProduceRequest,
    WriteTxnMarkersRequest,
)
from millstream_wire.messages.describe_producers import TopicRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic
from millstream_wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic


@pytest.fixture
def plain(tmp_path: Path, new_broker: Any) -> Iterator[Any]:
    """A broker that takes transactions unverified: there is no coordinator to ask."""
    broker = new_broker(tmp_path / "data", verifies_transactions=False)
    broker.start()
    broker.create_topic("t")
    yield broker
    broker.partitions.abandon()


def write(node: Any, batch: bytes, transactional_id: str | None = "x", version: int = 11) -> Any:
    """The partition's answer, or the future of the whole answer if the batch has to wait."""
    data = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=batch)])
    request = ProduceRequest(acks=-1, timeout_ms=1000, transactional_id=transactional_id, topic_data=[data])
    answer = node.call(request, version)
    return answer if asyncio.isfuture(answer) else answer.responses[0].partition_responses[0]


def end(
    node: Any,
    producer_id: int,
    *,
    commit: bool,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    topic: str = "t",
    version: int = 0,
) -> int:
    marker = WritableTxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=commit,
        topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[0])],
        coordinator_epoch=coordinator_epoch,
        transaction_version=version,
    )
    answer = node.call(WriteTxnMarkersRequest(markers=[marker]), 2)
    assert answer.markers[0].producer_id == producer_id
    return answer.markers[0].topics[0].partitions[0].error_code


def fetch(node: Any, offset: int = 0, *, committed: bool = True) -> Any:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_bytes=1 << 20,
        isolation_level=1 if committed else 0,
        session_epoch=-1,
        topics=[FetchTopic(topic="t", partitions=[partition])],
    )
    return node.call(request, 11).responses[0].partitions[0]


def latest(node: Any, *, committed: bool) -> int:
    asked = ListOffsetsPartition(partition_index=0, timestamp=-1, current_leader_epoch=-1)
    request = ListOffsetsRequest(
        replica_id=-1, isolation_level=int(committed), topics=[ListOffsetsTopic(name="t", partitions=[asked])]
    )
    return node.call(request, 5).topics[0].partitions[0].offset


def transactional(batch: Any, value: str, producer_id: int, sequence: int = 0, epoch: int = 0) -> bytes:
    return batch(value, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, transactional=True)


def test_readers_of_committed_records_stop_before_what_is_undecided(plain, batch, values) -> None:
    assert write(plain, batch("before")).error_code == ErrorCode.NONE
    assert write(plain, transactional(batch, "maybe", 7)).error_code == ErrorCode.NONE
    assert write(plain, batch("after")).error_code == ErrorCode.NONE
    assert [latest(plain, committed=True), latest(plain, committed=False)] == [1, 3]
    found = fetch(plain)
    assert values(found.records) == [(0, "before")]
    assert (found.last_stable_offset, found.high_watermark, found.aborted_transactions) == (1, 3, [])
    assert [offset for offset, _ in values(fetch(plain, committed=False).records)] == [0, 1, 2]

    assert end(plain, 7, commit=True) == ErrorCode.NONE
    assert latest(plain, committed=True) == 4
    found = fetch(plain)
    assert values(found.records)[:3] == [(0, "before"), (1, "maybe"), (2, "after")]
    assert found.aborted_transactions == []


def test_readers_are_told_which_transactions_were_aborted(plain, batch) -> None:
    write(plain, transactional(batch, "a", 7))
    write(plain, transactional(batch, "b", 8))
    assert end(plain, 8, commit=False) == ErrorCode.NONE
    assert fetch(plain).aborted_transactions == []
    assert end(plain, 7, commit=True) == ErrorCode.NONE
    assert [(t.producer_id, t.first_offset) for t in fetch(plain).aborted_transactions] == [(8, 1)]
    assert fetch(plain, 3).aborted_transactions == []
    assert fetch(plain, committed=False).aborted_transactions is None


def test_markers_of_deposed_coordinators_and_for_deposed_producers_are_refused(plain, batch) -> None:
    write(plain, transactional(batch, "a", 7, epoch=2))
    assert end(plain, 7, commit=True, epoch=1) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert end(plain, 7, commit=False, epoch=3, coordinator_epoch=5) == ErrorCode.NONE
    assert end(plain, 7, commit=False, epoch=3, coordinator_epoch=4) == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert end(plain, 7, commit=True, topic="missing") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    # The marker's epoch silences whoever had the one before.
    answer = write(plain, transactional(batch, "late", 7, sequence=1, epoch=2))
    assert answer.error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_transactional_batch_needs_a_transactional_id(plain, batch) -> None:
    answer = write(plain, transactional(batch, "a", 7), transactional_id=None)
    assert answer.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_producers_are_described_with_their_transactions(plain, batch) -> None:
    write(plain, batch("a"))
    write(plain, transactional(batch, "b", 7))
    request = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0])])

    def described() -> list[tuple[int, int, int, bool]]:
        producers = plain.call(request, 0).topics[0].partitions[0].active_producers
        return [
            (each.producer_id, each.current_txn_start_offset, each.coordinator_epoch, each.last_timestamp >= now_ms)
            for each in producers
        ]

    now_ms = plain.world.now_ms()
    assert described() == [(7, 1, -1, False)]
    end(plain, 7, commit=False, coordinator_epoch=4)
    assert described() == [(7, -1, 4, True)]


def test_coordinators_topics_take_no_markers(plain, batch) -> None:
    plain.create_topic("__consumer_offsets")
    assert end(plain, 7, commit=True, topic="__consumer_offsets") == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_broker_coordinates_no_transactions(plain) -> None:
    assert plain.call(EndTxnRequest(transactional_id="x"), 3).error_code == ErrorCode.NOT_COORDINATOR


def test_a_marker_of_version_2_ends_only_what_was_written_under_an_epoch_below_its_own(plain, batch, values) -> None:
    assert write(plain, transactional(batch, "first", 7)).error_code == ErrorCode.NONE
    assert end(plain, 7, commit=True, epoch=1, version=2) == ErrorCode.NONE
    assert latest(plain, committed=True) == 2
    # Again: it is there already, and not written twice.
    assert end(plain, 7, commit=True, epoch=1, version=2) == ErrorCode.NONE
    assert latest(plain, committed=True) == 2
    assert write(plain, transactional(batch, "zombie", 7, sequence=1)).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert write(plain, transactional(batch, "second", 7, epoch=1)).error_code == ErrorCode.NONE
    assert end(plain, 7, commit=True, epoch=1, version=2) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert latest(plain, committed=True) == 2
    assert end(plain, 7, commit=False, epoch=2, version=2) == ErrorCode.NONE
    assert [value for _, value in values(fetch(plain).records)][:1] == ["first"]
    assert latest(plain, committed=True) == 4


def test_no_batch_overtakes_one_that_has_just_been_told_to_wait(plain, batch, values) -> None:
    """Found with Java's producer: one whose turn came while its task had not yet run was overtaken by the next of its connection."""
    assert write(plain, transactional(batch, "first", 7)).error_code == ErrorCode.NONE
    answers: list[Any] = []

    def send(value: str, sequence: int) -> None:
        answers.append(write(plain, transactional(batch, value, 7, sequence=sequence), version=12))

    async def scene() -> None:
        async def come_before_the_second_runs() -> None:
            asyncio.get_running_loop().call_soon(send, "third", 2)
            send("second", 1)

        await plain.broker.verification.in_turn(7, come_before_the_second_runs)
        await asyncio.wait(answers)

    asyncio.run(scene())
    assert values(fetch(plain, committed=False).records) == [(0, "first"), (1, "second"), (2, "third")]


def test_a_disk_that_fails_a_waiting_reader_fails_neither_the_writer_nor_other_readers(
    tmp_path: Path, new_broker, batch
) -> None:
    """The reader was answered inside the append: its error was the writer's, and its own answer never came."""
    plain = new_broker(tmp_path / "data", verifies_transactions=False)
    plain.start()
    plain.create_topic("t")
    now_ms = plain.world.now_ms()
    write(plain, transactional(partial(batch, timestamp=now_ms), "aborted", 7))
    end(plain, 7, commit=False)
    write(plain, transactional(partial(batch, timestamp=now_ms), "undecided", 8))
    plain.replica("t").log.roll(now_ms)
    plain.partitions.close(1)
    plain = new_broker(tmp_path / "data", verifies_transactions=False)
    plain.create_topic("t")
    plain.start()
    index = tmp_path / "data" / "t-0" / "00000000000000000000.txnindex"
    index.unlink()
    index.mkdir()  # from here on every read of it fails

    async def scene() -> None:
        broken = wait_for(plain, 2, committed=True)
        sound = wait_for(plain, 3, committed=False)
        assert end(plain, 8, commit=True) == ErrorCode.NONE
        assert not broken.done(), "a waiter is answered by the loop, not by whoever appends"
        data = plain.as_read(ApiKey.FETCH, await broken, 11).responses[0].partitions[0]
        assert (data.error_code, data.records) == (ErrorCode.KAFKA_STORAGE_ERROR, b"")
        data = plain.as_read(ApiKey.FETCH, await sound, 11).responses[0].partitions[0]
        assert (data.error_code, data.high_watermark, bool(data.records)) == (ErrorCode.NONE, 4, True)

    asyncio.run(scene())
    assert fetch(plain, 2).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    plain.partitions.abandon()


def wait_for(node: Any, offset: int, *, committed: bool) -> Any:
    """A fetch that waits for what comes at `offset`."""
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_bytes=1 << 20,
        isolation_level=int(committed),
        session_epoch=-1,
        max_wait_ms=60_000,
        min_bytes=1,
        topics=[FetchTopic(topic="t", partitions=[partition])],
    )
    return node.call(request, 11)
