"""What Produce accepts, refuses and answers, with a real log behind it."""

import struct
from typing import Any
from uuid import UUID

import pytest

from millstream_broker.api.produce import answer_single_produce
from millstream_cluster.ids import NodeId, Role
from millstream_cluster.principal import Principal
from millstream_runtime.serving.context import CloseConnection, Connection, RequestContext
from millstream_runtime.serving.peer import ClientPeer, NodePeer
from millstream_wire.api import ApiKey
from millstream_wire.codec import encode
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import DescribeProducersRequest, FetchRequest, ProduceRequest, ProduceResponse
from millstream_wire.messages.describe_producers import TopicRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData
from millstream_wire.records.batch import seal

COORDINATOR = NodePeer(Role.COORDINATOR, NodeId(10_001))


def produce(records: bytes | None, *, topic: str = "orders", index: int = 0, acks: int = 1) -> ProduceRequest:
    data = PartitionProduceData(index=index, records=records)
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])


def answer(node: Any, request: ProduceRequest, version: int = 9, **options: Any) -> Any:
    return node.call(request, version, **options).responses[0].partition_responses[0]


def fetched(node: Any, values: Any, topic: str = "orders") -> Any:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    reply = node.call(FetchRequest(topics=[FetchTopic(topic=topic, partitions=[partition])]), 12)
    return values(reply.responses[0].partitions[0].records)


def test_batches_get_offsets_in_order(node: Any, batch: Any, values: Any) -> None:
    node.create_topic("orders")
    first = answer(node, produce(batch("a", "b")))
    second = answer(node, produce(batch("c"), acks=-1))
    assert [(reply.error_code, reply.base_offset) for reply in (first, second)] == [(0, 0), (0, 2)]
    assert (first.log_append_time_ms, first.log_start_offset) == (-1, 0)
    assert fetched(node, values) == [(0, "a"), (1, "b"), (2, "c")]
    assert node.replica("orders").log.epochs[-1].epoch == 3


@pytest.mark.parametrize("version", range(3, 14))
def test_every_version(node: Any, batch: Any, version: int) -> None:
    topic_id = node.create_topic("orders")
    request = produce(batch("a"))
    request.topic_data[0].topic_id = topic_id
    assert (answer(node, request, version).error_code, answer(node, request, version).base_offset) == (0, 1)


def test_unknown_topics_and_partitions(node: Any, batch: Any) -> None:
    node.create_topic("orders")
    node.create_topic("elsewhere", leader=2)
    assert answer(node, produce(batch("a"), topic="gone")).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answer(node, produce(batch("a"), index=1)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    request = produce(batch("a"))
    request.topic_data[0].topic_id = UUID(int=5)
    assert answer(node, request, 13).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    reply = node.call(produce(batch("a"), topic="elsewhere"), 10)
    refused = reply.responses[0].partition_responses[0]
    assert (refused.error_code, refused.base_offset) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert (refused.current_leader.leader_id, refused.current_leader.leader_epoch) == (2, 3)
    assert [(node.node_id, node.host) for node in reply.node_endpoints] == [(2, "host-2")]


def corrupted(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def old_magic(data: bytes) -> bytes:
    return data[:16] + b"\1" + data[17:]


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda data: None, ErrorCode.INVALID_RECORD),
        (lambda data: b"", ErrorCode.INVALID_RECORD),
        (lambda data: data[:40], ErrorCode.INVALID_RECORD),
        (lambda data: data[:-1], ErrorCode.INVALID_RECORD),
        (lambda data: data + data, ErrorCode.INVALID_RECORD),
        (old_magic, ErrorCode.INVALID_RECORD),
        (corrupted, ErrorCode.CORRUPT_MESSAGE),
        (lambda data: data[:16] + b"\3" + data[17:], ErrorCode.CORRUPT_MESSAGE),
        (lambda data: data[:16] + b"\xff" + data[17:], ErrorCode.CORRUPT_MESSAGE),
        (lambda data: data[:8] + struct.pack(">i", len(data) - 13) + data[12:], ErrorCode.CORRUPT_MESSAGE),
        (lambda data: data[:8] + b"\0\0\0\1" + data[12:], ErrorCode.CORRUPT_MESSAGE),
    ],
)
@pytest.mark.parametrize("version", [8, 9])  # the last without tags, the first with them
def test_bytes_that_are_not_one_intact_batch(node: Any, batch: Any, spoil: Any, code: ErrorCode, version: int) -> None:
    node.create_topic("orders")
    refused = answer(node, produce(spoil(batch("a" * 20))), version)
    assert (refused.error_code, refused.base_offset) == (code, -1)
    assert refused.error_message
    assert node.replica("orders").log.log_end_offset == 0


def test_a_record_that_no_reader_could_take_is_refused(node: Any, batch: Any, values: Any) -> None:
    node.create_topic("orders")
    whole = batch("a")
    headers_at = len(whole) - 1
    for headers in (1, 2, 0x7F):  # of which there is nothing; -1, 1, -64 as numbers
        broken = bytearray(whole[:headers_at] + bytes([headers]))
        seal(broken)
        assert answer(node, produce(bytes(broken))).error_code == ErrorCode.INVALID_RECORD
    assert answer(node, produce(whole)).error_code == 0
    assert fetched(node, values) == [(0, "a")]


def test_a_base_timestamp_of_the_far_future_is_looked_into(node: Any, batch: Any) -> None:
    node.create_topic("orders")
    late = bytearray(batch("a"))
    late[27:35] = struct.pack(">q", (1 << 63) - 1)
    seal(late)
    assert answer(node, produce(bytes(late))).error_code == ErrorCode.INVALID_TIMESTAMP


def test_the_smallest_of_all_timestamps_is_not_late(node: Any, batch: Any) -> None:
    node.create_topic("orders")
    early = bytearray(batch("a"))
    early[27:43] = struct.pack(">qq", -(1 << 63), -(1 << 63))
    seal(early)
    assert answer(node, produce(bytes(early))).error_code == 0


def test_one_bad_partition_leaves_the_others_alone(node: Any, batch: Any, values: Any) -> None:
    node.create_topic("orders", partitions=2)
    request = produce(batch("a"))
    request.topic_data[0].partition_data.append(PartitionProduceData(index=1, records=corrupted(batch("b"))))
    good, bad = node.call(request, 9).responses[0].partition_responses
    assert (good.error_code, bad.error_code) == (0, ErrorCode.CORRUPT_MESSAGE)
    assert fetched(node, values) == [(0, "a")]


def test_the_usual_request_takes_the_shortcut(node: Any, batch: Any) -> None:
    node.create_topic("orders")
    context = RequestContext(ApiKey.PRODUCE, 12, 7, "client", b"", Connection(1, "127.0.0.1:5", "PLAINTEXT"), 0)

    def shortcut(request: ProduceRequest) -> Any:
        return answer_single_produce(node.broker, memoryview(bytearray(encode(request, 12))), 0, context)

    assert isinstance(shortcut(produce(batch("a"))), bytes)
    assert isinstance(shortcut(produce(corrupted(batch("a")))), ProduceResponse)
    assert shortcut(produce(batch("a"), acks=0)) is None
    assert node.replica("orders").log.log_end_offset == 1


def test_topic_limits(node: Any, batch: Any) -> None:
    node.create_topic("orders", max_message_bytes="100")
    assert answer(node, produce(batch("a" * 100))).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert answer(node, produce(batch("a"))).error_code == 0
    node.create_topic("strict", min_insync_replicas="2")
    # One replica is all that this topic can have in sync.
    assert answer(node, produce(batch("a"), topic="strict", acks=-1)).error_code == 0
    assert answer(node, produce(batch("a"), topic="strict", acks=1)).error_code == 0


def test_a_compacted_topic_needs_keys_and_names_the_records_without(node: Any, batch: Any) -> None:
    node.create_topic("state", cleanup_policy="compact")
    refused = answer(node, produce(batch("a", "b"), topic="state"))
    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in refused.record_errors] == [0, 1]
    assert answer(node, produce(batch("a", key=b"k"), topic="state")).error_code == 0


def test_a_batch_that_claims_the_wrong_count(node: Any, batch: Any) -> None:
    node.create_topic("orders")
    from millstream_wire.records.batch import seal

    liar = bytearray(batch("a", "b", "c"))
    liar[23:27] = (3).to_bytes(4, "big")
    liar[57:61] = (4).to_bytes(4, "big")
    seal(liar)
    assert answer(node, produce(bytes(liar))).error_code == ErrorCode.INVALID_RECORD


def test_timestamps(node: Any, batch: Any) -> None:
    now = node.world.now_ms()
    node.create_topic("orders", message_timestamp_after_max_ms="1000", message_timestamp_before_max_ms="5000")
    late = answer(node, produce(batch("a", timestamp=now + 60_000)))
    assert (late.error_code, late.record_errors[0].batch_index) == (ErrorCode.INVALID_TIMESTAMP, 0)
    assert answer(node, produce(batch("a", timestamp=now - 60_000))).error_code == ErrorCode.INVALID_TIMESTAMP
    assert answer(node, produce(batch("a", timestamp=now))).error_code == 0
    node.create_topic("stamped", message_timestamp_type="LogAppendTime")
    stamped = answer(node, produce(batch("a", timestamp=5), topic="stamped"))
    assert (stamped.error_code, stamped.log_append_time_ms >= now) == (0, True)


def test_acks(node: Any, batch: Any) -> None:
    node.create_topic("orders")
    assert answer(node, produce(batch("a"), acks=2)).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert node.call(produce(batch("a"), acks=0), 9) is None
    assert node.replica("orders").log.log_end_offset == 1

    with pytest.raises(CloseConnection):
        node.call(produce(b"", acks=0), 9)


def test_repetitions_of_an_idempotent_producer_are_answered_with_the_first_offset(node: Any, batch: Any) -> None:
    node.create_topic("orders")
    first = batch("a", "b", producer_id=9, producer_epoch=0, base_sequence=0)
    second = batch("c", producer_id=9, producer_epoch=0, base_sequence=2)
    replies = [answer(node, produce(data)) for data in (first, second, first, second)]
    assert [(reply.error_code, reply.base_offset) for reply in replies] == [(0, 0), (0, 2), (0, 0), (0, 2)]
    assert node.replica("orders").log.log_end_offset == 3
    asked = DescribeProducersRequest(topics=[TopicRequest(name="orders", partition_indexes=[0, 5])])
    known, missing = node.call(asked, 0).topics[0].partitions
    assert [(p.producer_id, p.producer_epoch, p.last_sequence) for p in known.active_producers] == [(9, 0, 2)]
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    gap = batch("z", producer_id=9, producer_epoch=0, base_sequence=7)
    assert answer(node, produce(gap)).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    answer(node, produce(batch("d", producer_id=9, producer_epoch=1, base_sequence=0)))
    fenced = batch("e", producer_id=9, producer_epoch=0, base_sequence=3)
    assert answer(node, produce(fenced)).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize("version", [9, 13])
@pytest.mark.parametrize("is_usual", [True, False])
def test_what_is_behind_a_refused_batch_is_not_taken_for_the_first(
    node: Any, batch: Any, version: int, is_usual: bool
) -> None:
    """Found by the simulation (seed 35 of consumer groups): the topic became known between two batches in flight."""

    def send(sequence: int, producer_id: int = 7) -> int:
        request = produce(batch("a", producer_id=producer_id, producer_epoch=0, base_sequence=sequence))
        request.topic_data[0].topic_id = UUID(int=1000)  # that of the first topic
        request.transactional_id = None if is_usual else ""  # the codec's, or read by hand
        return int(answer(node, request, version).error_code)

    unknown = ErrorCode.UNKNOWN_TOPIC_ID if version == 13 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert send(0) == unknown
    assert node.create_topic("orders") == UUID(int=1000)
    assert send(1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(1, producer_id=8) == ErrorCode.NONE  # nothing of this one was refused: it may have been here before
    assert [send(sequence) for sequence in range(3)] == [ErrorCode.NONE] * 3


def test_only_coordinators_write_to_internal_topics(node: Any, batch: Any) -> None:
    node.create_topic("__consumer_offsets", cleanup_policy="compact")
    request = produce(batch("a", key=b"k"), topic="__consumer_offsets")
    assert answer(node, request).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    for peer in (NodePeer(Role.BROKER, NodeId(2)), ClientPeer(Principal("User", "coordinator-10001"))):
        assert answer(node, request, peer=peer).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    named = answer(node, request, client_id="__coordinator-10001")
    assert named.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION, "what a request says of its sender counts for nothing"
    assert answer(node, request, peer=COORDINATOR).error_code == ErrorCode.INVALID_RECORD


def test_a_shards_fence_holds_where_the_log_remembers_nothing(node: Any, batch: Any) -> None:
    from millstream_cluster import records as r
    from millstream_cluster.ids import ProducerEpoch, ProducerId

    topic_id = node.create_topic("__consumer_offsets", cleanup_policy="compact")
    node.learn(r.ShardAssigned(topic_id, 0, NodeId(10_001), ProducerId(7), ProducerEpoch(4)))

    def write(epoch: int, sequence: int, producer_id: int = 7) -> int:
        data = batch("a", key=b"k", producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
        code: int = answer(node, produce(data, topic="__consumer_offsets"), peer=COORDINATOR).error_code
        return code

    assert write(epoch=4, sequence=1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert write(epoch=3, sequence=0) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert write(epoch=4, sequence=0) == 0
    assert write(epoch=4, sequence=1) == 0
    assert write(epoch=5, sequence=0) == 0
    assert write(epoch=4, sequence=2) == ErrorCode.INVALID_PRODUCER_EPOCH
    # The epochs ran out: the owner before the new producer id is deposed with the first claim under it.
    assert write(epoch=32_767, sequence=0) == 0
    assert write(epoch=0, sequence=0, producer_id=6) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert write(epoch=0, sequence=1, producer_id=9) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert write(epoch=0, sequence=0, producer_id=9) == 0
    assert write(epoch=32_767, sequence=1) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert write(epoch=0, sequence=1, producer_id=9) == 0


def test_a_full_disk_loses_nothing_and_the_broker_goes_on(node: Any, batch: Any, values: Any) -> None:
    import os
    import resource
    import signal

    node.create_topic("orders")
    assert answer(node, produce(batch("kept"))).error_code == 0
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = os.stat(node.replica("orders").log.segments[-1].log_path).st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
    try:
        assert answer(node, produce(batch("x" * 500))).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert answer(node, produce(batch("again"))).base_offset == 1
    assert fetched(node, values) == [(0, "kept"), (1, "again")]
