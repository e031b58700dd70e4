"""Compaction as the broker carries it out, over real logs."""

import asyncio
import logging
import time
from typing import Any

import pytest

from millstream_broker.cleaner_config import CleanerConfig
from millstream_broker.shell.upkeep.cleaner import Cleaner
from millstream_cluster import records as r
from millstream_cluster.ids import LeaderEpoch, NodeId, PartitionEpoch
from millstream_log import TopicPartition
from millstream_runtime.properties import Properties, PropertyError
from millstream_wire.records import Record, check, decode_batches, encode_batch


def cleaner(node: Any, **config: Any) -> Cleaner:
    return Cleaner(lambda: CleanerConfig(**config), node.world, node.partitions)


def put(node: Any, topic: str, *pairs: tuple[bytes, bytes | None], timestamp: int | None = None, roll: bool = True):
    replica = node.replica(topic)
    time_ms = node.world.now_ms() if timestamp is None else timestamp
    data = bytearray(encode_batch([Record(-1, time_ms, key, value) for key, value in pairs]))
    replica.log.append(data, check(data), leader_epoch=3, now_ms=node.world.now_ms())
    if roll:
        replica.log.roll(node.world.now_ms())
    replica.partition.on_appended(replica.log.log_end_offset, len(data))


def offsets(node: Any, topic: str) -> list[int]:
    log = node.replica(topic).log
    found, offset = [], log.log_start_offset
    while (read := log.read(offset, 1 << 20)) is not None:
        found += [record.offset for record in decode_batches(read.slice.read())]
        offset = read.next_offset
    return found


def test_the_dirtiest_log_is_cleaned_first_and_what_is_clean_is_left_alone(node: Any) -> None:
    for topic in ("one", "two", "plain"):
        policy = "delete" if topic == "plain" else "compact"
        node.create_topic(topic, cleanup_policy=policy, file_delete_delay_ms="0" if topic == "two" else "60000")
    for topic in ("one", "two", "plain"):
        put(node, topic, (b"a", b"1"), (b"a", b"2"))
    work = cleaner(node)

    async def clean() -> None:
        assert await work.clean_dirtiest()
        assert await work.clean_dirtiest()
        assert not await work.clean_dirtiest()
        for value in range(3):
            put(node, "two", (b"a", b"%d" % value))
        assert await work.clean_dirtiest()
        await node.partitions.removals.remove_due()

    asyncio.run(clean())
    assert (offsets(node, "one"), offsets(node, "two"), offsets(node, "plain")) == ([1], [4], [0, 1])
    checkpoint = (node.config.data_dir / "cleaner-offset-checkpoint").read_text()
    assert checkpoint.splitlines() == ["0", "2", "one 0 2", "two 0 5"]
    assert not list(node.replica("two").log.directory.glob("*.deleted"))
    assert list(node.replica("one").log.directory.glob("*.log.deleted"))
    asyncio.run(work.clean_dirtiest())


def test_little_dirt_has_to_wait_until_it_is_old(node: Any) -> None:
    node.create_topic("orders", cleanup_policy="compact", max_compaction_lag_ms="60000")
    put(node, "orders", *((b"%d" % i, b"x" * 100) for i in range(20)))
    work = cleaner(node)
    assert asyncio.run(work.clean_dirtiest())
    put(node, "orders", (b"1", b""))
    assert not asyncio.run(work.clean_dirtiest())
    put(node, "orders", (b"2", b""), timestamp=node.world.now_ms() - 61_000)
    assert not asyncio.run(work.clean_dirtiest()), "the first dirty record decides"
    put(node, "orders", *((b"%d" % i, b"x" * 100) for i in range(20)))
    assert asyncio.run(work.clean_dirtiest())
    put(node, "orders", (b"1", b""), timestamp=node.world.now_ms() - 61_000)
    assert asyncio.run(work.clean_dirtiest())
    assert node.replica("orders").settings.log.segment_ms == 60_000


def test_what_is_not_committed_waits(node: Any) -> None:
    topic_id = node.create_topic("orders", cleanup_policy="compact")
    both = (NodeId(1), NodeId(2))
    node.learn(r.PartitionChanged(topic_id, 0, both, both, NodeId(1), LeaderEpoch(3), PartitionEpoch(1)))
    put(node, "orders", (b"a", b"1"), (b"a", b"2"))
    assert not asyncio.run(cleaner(node).clean_dirtiest())
    follower = {"replica_id": 2, "broker_epoch": 2}
    node.broker.fetched(node.replica("orders"), 2, **follower, arrived_ms=0, log_start_offset=0)
    assert asyncio.run(cleaner(node).clean_dirtiest())


def test_a_corrupt_partition_is_left_alone_and_told_once(node: Any, caplog: pytest.LogCaptureFixture) -> None:
    for topic in ("broken", "sound"):
        node.create_topic(topic, cleanup_policy="compact")
        put(node, topic, (b"a", b"1" * 100), (b"a", b"2"))
    path = node.replica("broken").log.segments[0].log_path
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    work = cleaner(node)

    async def clean() -> None:
        while await work.clean_dirtiest():
            pass
        assert not await work.clean_dirtiest()

    with caplog.at_level(logging.ERROR):
        asyncio.run(clean())
    assert offsets(node, "sound") == [1]
    assert path.read_bytes() == data
    assert [record.message.partition(" partition=")[0] for record in caplog.records] == [
        "partition is uncleanable until the next start"
    ]


def test_a_partition_deleted_meanwhile_is_no_error(node: Any, caplog: pytest.LogCaptureFixture) -> None:
    topic_id = node.create_topic("orders", cleanup_policy="compact")
    for i in range(40):
        put(node, "orders", *((b"%d" % i, b"x" * 1000) for _ in range(10)), roll=i % 20 == 19)
    work = cleaner(node)

    async def clean() -> None:
        cleaning = asyncio.ensure_future(work.clean_dirtiest())
        await asyncio.sleep(0)
        node.learn(r.TopicDeleted(topic_id))
        await cleaning
        assert not await work.clean_dirtiest()

    with caplog.at_level(logging.ERROR):
        asyncio.run(clean())
    assert caplog.records == []


def test_reading_and_writing_is_throttled(node: Any) -> None:
    node.create_topic("orders", cleanup_policy="compact")
    put(node, "orders", *((b"%d" % i, b"x" * 1000) for i in range(200)))
    started = time.monotonic()
    assert asyncio.run(cleaner(node, io_max_bytes_per_second=1_500_000.0).clean_dirtiest())
    assert time.monotonic() - started > 0.25, "600 kB are read twice and written once"


def test_the_clean_part_is_remembered_across_a_restart(node: Any) -> None:
    node.create_topic("orders", cleanup_policy="compact")
    put(node, "orders", (b"a", b"1"), (b"a", b"2"))
    assert asyncio.run(cleaner(node).clean_dirtiest())
    directory = node.partitions.directories.online[0]
    assert directory.first_dirty_offset(TopicPartition("orders", 0)) == 2
    directory.doom_log(TopicPartition("orders", 0))
    assert directory.first_dirty_offset(TopicPartition("orders", 0)) is None


def test_properties_are_checked() -> None:
    config = CleanerConfig.from_properties(
        Properties({"log.cleaner.enable": "false", "log.cleaner.io.max.bytes.per.second": "1e6"})
    )
    assert (config.enabled, config.io_max_bytes_per_second, config.backoff_ms) == (False, 1e6, 15_000)
    for bad in ("0", "fast", "nan"):
        with pytest.raises(PropertyError):
            CleanerConfig.from_properties(Properties({"log.cleaner.io.max.bytes.per.second": bad}))
