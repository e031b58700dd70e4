"""HostedPartitions in line with the metadata: made, configured, deleted, set aside, and found again after a restart."""

import asyncio
from pathlib import Path
from typing import Any

from millstream_cluster import records as r
from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch
from millstream_wire.errors import ErrorCode
from millstream_wire.records import check


def append(node: Any, batch: bytes, topic: str = "orders") -> None:
    replica = node.replica(topic)
    data = bytearray(batch)
    replica.log.append(data, check(data), leader_epoch=3, now_ms=1)
    replica.partition.on_appended(replica.log.log_end_offset, len(batch))


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir() if entry.is_dir())


def test_only_our_partitions_get_a_directory(node: Any) -> None:
    node.create_topic("orders", partitions=2)
    node.create_topic("elsewhere", leader=2)
    assert names(node.config.data_dir) == ["orders-0", "orders-1"]
    assert node.replica("orders").partition.leads


def test_configs_reach_the_log(node: Any) -> None:
    node.create_topic("orders", segment_bytes="2000000")
    assert node.replica("orders").log.config.segment_bytes == 2_000_000
    node.learn(r.ConfigChanged(r.ResourceType.TOPIC, "orders", "segment.bytes", None))
    node.learn(r.ConfigChanged(r.ResourceType.BROKER, "", "message.max.bytes", "777"))
    settings = node.replica("orders").settings
    assert (settings.log.segment_bytes, settings.max_message_bytes) == (1 << 30, 777)


def test_a_topic_deleted_and_created_again_starts_empty(node: Any, batch: Any) -> None:
    topic_id = node.create_topic("orders", file_delete_delay_ms="0")
    append(node, batch("a"))
    node.learn(r.TopicDeleted(topic_id))
    (doomed,) = names(node.config.data_dir)
    assert doomed.endswith("-delete")
    asyncio.run(node.partitions.removals.remove_due())
    assert names(node.config.data_dir) == []
    node.create_topic("more")
    node.create_topic("orders")
    assert node.replica("orders").log.log_end_offset == 0


def test_a_restart_finds_its_logs_and_waits_for_the_metadata(new_broker: Any, tmp_path: Path, batch: Any) -> None:
    first = new_broker(tmp_path)
    first.start()
    first.create_topic("orders")
    append(first, batch("a", "b"))
    first.partitions.close(1)
    second = new_broker(tmp_path)
    replica = second.replica("orders")
    assert (replica.log.log_end_offset, replica.partition.leads) == (2, False)
    second.create_topic("orders")
    second.start()
    assert second.replica("orders") is replica
    assert replica.partition.leads
    second.partitions.abandon()


def test_what_the_metadata_does_not_explain_is_set_aside_and_deletions_are_caught_up_on(
    new_broker: Any, tmp_path: Path, batch: Any
) -> None:
    first = new_broker(tmp_path)
    first.start()
    first.create_topic("unexplained")
    append(first, batch("precious"), "unexplained")
    gone = first.create_topic("gone")
    first.partitions.close(1)
    second = new_broker(tmp_path)
    second.learn(r.TopicCreated("gone", gone, False), r.TopicDeleted(gone))
    second.start()
    doomed, stray = names(tmp_path)
    assert doomed.startswith("gone-0.")
    assert doomed.endswith("-delete")
    assert stray.startswith("unexplained-0.")
    assert stray.endswith("-stray")
    assert any((tmp_path / stray).glob("*.log"))
    second.partitions.abandon()


def test_many_logs_are_made_with_requests_served_in_between(node: Any) -> None:
    async def scenario() -> None:
        topic_id = node.create_topic("wide", partitions=40)
        assert len(node.partitions) == 0
        assert node.broker.locate("wide", 0) is ErrorCode.NOT_LEADER_OR_FOLLOWER
        making = asyncio.create_task(node.hosting.run())
        for _ in range(5):
            await asyncio.sleep(0)
        assert 0 < len(node.partitions) < 40
        us = (NodeId(1),)
        node.learn(r.PartitionChanged(topic_id, 39, us, us, NodeId(1), LeaderEpoch(9), PartitionEpoch(1)))
        assert node.replica("wide", 39).partition.leader_epoch == 9
        for _ in range(60):
            await asyncio.sleep(0)
        assert len(node.partitions) == 40
        node.create_topic("doomed", partitions=10)
        node.learn(r.TopicDeleted(node.image.topics["doomed"].topic_id))
        for _ in range(30):
            await asyncio.sleep(0)
        assert len(node.partitions) == 40
        making.cancel()

    asyncio.run(scenario())
