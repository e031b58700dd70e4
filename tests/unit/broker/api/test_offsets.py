"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords over the same log."""

from typing import Any

from millstream_wire.errors import ErrorCode
from millstream_wire.messages import (
    DeleteRecordsRequest,
    FetchRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from millstream_wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsTopic
from millstream_wire.messages.fetch import FetchPartition, FetchTopic
from millstream_wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from millstream_wire.messages.offset_for_leader_epoch import OffsetForLeaderPartition, OffsetForLeaderTopic
from millstream_wire.messages.produce import PartitionProduceData, TopicProduceData


def produce(node: Any, *batches: bytes) -> None:
    for batch in batches:
        data = TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=batch)])
        reply = node.call(ProduceRequest(acks=1, topic_data=[data]), 9)
        assert reply.responses[0].partition_responses[0].error_code == 0


def list_offset(node: Any, timestamp: int, version: int = 11, topic: str = "orders", epoch: int = -1) -> Any:
    partition = ListOffsetsPartition(partition_index=0, timestamp=timestamp, current_leader_epoch=epoch)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])
    found = node.call(request, version).topics[0].partitions[0]
    return (found.error_code, found.offset, found.timestamp, found.leader_epoch)


def delete_records(node: Any, offset: int, topic: str = "orders") -> Any:
    topics = [DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)])]
    found = node.call(DeleteRecordsRequest(topics=topics), 2).topics[0].partitions[0]
    return (found.error_code, found.low_watermark)


def test_offsets_by_time_and_at_the_ends(node: Any, batch: Any) -> None:
    node.create_topic("orders")
    produce(node, batch("a", timestamp=1000), batch("b", timestamp=3000), batch("c", timestamp=2000))
    assert list_offset(node, -1) == (0, 3, -1, 3)
    assert list_offset(node, -2) == (0, 0, -1, 3)
    assert list_offset(node, -3) == (0, 1, 3000, 3)
    assert list_offset(node, -4) == (0, 0, -1, 3)
    assert list_offset(node, -5) == (0, -1, -1, -1)
    assert list_offset(node, 1001) == (0, 1, 3000, 3)
    assert list_offset(node, 0) == (0, 0, 1000, 3)
    assert list_offset(node, 3001) == (0, -1, -1, -1)


def test_every_version_of_list_offsets(node: Any, batch: Any) -> None:
    node.create_topic("orders")
    produce(node, batch("a"))
    for version in range(1, 12):
        assert list_offset(node, -1, version)[:2] == (0, 1)
    assert list_offset(node, -3, 6)[0] == ErrorCode.UNSUPPORTED_VERSION
    assert list_offset(node, -5, 8)[0] == ErrorCode.UNSUPPORTED_VERSION
    assert list_offset(node, -7)[0] == ErrorCode.UNSUPPORTED_VERSION


def test_refused_offsets(node: Any) -> None:
    node.create_topic("orders")
    assert list_offset(node, -1, topic="gone")[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list_offset(node, -1, epoch=2)[0] == ErrorCode.FENCED_LEADER_EPOCH
    twice = [ListOffsetsPartition(partition_index=0, timestamp=-1)] * 2
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="orders", partitions=twice)])
    (answer,) = node.call(request, 5).topics[0].partitions
    assert answer.error_code == ErrorCode.INVALID_REQUEST


def test_delete_records_moves_the_start(node: Any, batch: Any) -> None:
    node.create_topic("orders")
    produce(node, batch("a"), batch("b"), batch("c"))
    assert delete_records(node, 2) == (0, 2)
    assert delete_records(node, 1) == (0, 2), "never back"
    assert list_offset(node, -2)[:2] == (0, 2)
    assert delete_records(node, 4)[0] == ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete_records(node, -1) == (0, 3)
    partition = FetchPartition(partition=0, fetch_offset=1, partition_max_bytes=100)
    reply = node.call(FetchRequest(topics=[FetchTopic(topic="orders", partitions=[partition])]), 11)
    assert reply.responses[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_delete_records_is_refused_where_records_must_stay(node: Any) -> None:
    node.create_topic("__consumer_offsets", cleanup_policy="compact")
    node.create_topic("state", cleanup_policy="compact")
    assert delete_records(node, 0, "__consumer_offsets")[0] == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert delete_records(node, 0, "state")[0] == ErrorCode.POLICY_VIOLATION


def epoch_end(node: Any, leader_epoch: int, current: int = -1) -> Any:
    partition = OffsetForLeaderPartition(partition=0, current_leader_epoch=current, leader_epoch=leader_epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="orders", partitions=[partition])])
    found = node.call(request, 4).topics[0].partitions[0]
    return (found.error_code, found.leader_epoch, found.end_offset)


def test_where_epochs_ended(node: Any, batch: Any) -> None:
    from millstream_cluster import records as r
    from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch

    topic_id = node.create_topic("orders")
    assert epoch_end(node, 3) == (0, 3, 0)
    produce(node, batch("a"), batch("b"))
    us = (NodeId(1),)
    node.learn(r.PartitionChanged(topic_id, 0, us, us, NodeId(1), LeaderEpoch(5), PartitionEpoch(1)))
    produce(node, batch("c"))
    assert epoch_end(node, 3) == (0, 3, 2)
    assert epoch_end(node, 4) == (0, 3, 2)
    assert epoch_end(node, 5, current=5) == (0, 5, 3)
    assert epoch_end(node, 6) == (0, -1, -1)
    assert epoch_end(node, 3, current=3)[0] == ErrorCode.FENCED_LEADER_EPOCH
