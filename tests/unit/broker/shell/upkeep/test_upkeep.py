"""Retention, flushing and checkpoints over real logs."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from millstream_broker.shell.upkeep.upkeep import FLUSHES_AT_ONCE, Upkeep
from millstream_cluster import records as r
from millstream_log import writing
from millstream_wire.records import check


def upkeep(node: Any) -> Upkeep:
    return Upkeep(lambda: node.config, node.world, node.partitions)


def append(node: Any, *batches: bytes, topic: str = "orders") -> None:
    replica = node.replica(topic)
    for batch in batches:
        data = bytearray(batch)
        replica.log.append(data, check(data), leader_epoch=3, now_ms=node.world.now_ms())
    replica.partition.on_appended(replica.log.log_end_offset, len(data))


def test_old_segments_go_and_young_ones_stay(node: Any, batch: Any) -> None:
    node.create_topic("orders", retention_ms="60000")
    log = node.replica("orders").log
    append(node, batch("old", timestamp=1000))
    log.roll(node.world.now_ms())
    append(node, batch("young", timestamp=node.world.now_ms()))
    asyncio.run(upkeep(node).retain())
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (1, 2, 1)


@pytest.mark.parametrize("chore", [Upkeep.retain, Upkeep.checkpoint, Upkeep.flush_due, Upkeep.flush_all])
@pytest.mark.parametrize("turns", range(4))
def test_partitions_that_go_meanwhile_are_left_alone(
    node: Any, batch: Any, caplog: pytest.LogCaptureFixture, chore: Callable[[Upkeep], Awaitable[Any]], turns: int
) -> None:
    """Each is flushed in some turns of the event loop; it may go before that, in the middle, or after."""
    names = [f"topic-{number}" for number in range(3 * FLUSHES_AT_ONCE)]
    topic_ids = [node.create_topic(name, retention_ms="60000", flush_ms="0") for name in names]
    for name in names:
        append(node, batch("old", timestamp=1000), topic=name)

    async def scenario() -> None:
        working = asyncio.ensure_future(chore(upkeep(node)))
        for _ in range(turns):
            await asyncio.sleep(0)
        for topic_id in topic_ids:
            node.learn(r.TopicDeleted(topic_id))
        await working

    asyncio.run(scenario())
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_flush_that_ends_after_its_partition_leaves_no_file_in_the_next_one_of_that_name(
    node: Any, batch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "REPLAYED_BYTES", 0)
    topic_id = node.create_topic("orders")

    async def scenario() -> None:
        append(node, batch("a", producer_id=7, producer_epoch=0, base_sequence=0))
        await upkeep(node).checkpoint()
        append(node, batch("b", producer_id=7, producer_epoch=0, base_sequence=1))
        flushing = asyncio.create_task(upkeep(node).checkpoint())
        await asyncio.sleep(0)
        node.learn(r.TopicDeleted(topic_id))
        node.create_topic("orders")
        append(node, batch("a"), batch("b"))
        await flushing

    asyncio.run(scenario())
    assert list(node.replica("orders").log.directory.glob("*.snapshot")) == []


def test_files_of_deleted_segments_stay_for_their_topics_delay(node: Any, batch: Any) -> None:
    for topic, delay_ms in (("orders", "0"), ("bills", "60000")):
        node.create_topic(topic, retention_ms="60000", file_delete_delay_ms=delay_ms)
        append(node, batch("old", timestamp=1000), topic=topic)

    async def scenario() -> None:
        await upkeep(node).retain()
        assert deleted("orders") == deleted("bills") != []
        await node.partitions.removals.remove_due()

    def deleted(topic: str) -> list[str]:
        return sorted(path.name for path in node.replica(topic).log.directory.glob("*.deleted"))

    asyncio.run(scenario())
    old = f"{0:020d}"
    assert deleted("orders") == []
    assert deleted("bills") == [f"{old}.{kind}.deleted" for kind in ("index", "log", "timeindex")]
    assert node.replica("bills").log.size == 0


def test_a_log_that_is_old_as_a_whole_keeps_its_offsets(node: Any, batch: Any) -> None:
    node.create_topic("orders", retention_ms="60000")
    log = node.replica("orders").log
    append(node, batch("old", "older", timestamp=1000))
    asyncio.run(upkeep(node).retain())
    assert (log.log_start_offset, log.log_end_offset, log.size) == (2, 2, 0)


def test_large_topics_lose_their_oldest_segments_and_compacted_ones_nothing(node: Any, batch: Any) -> None:
    node.create_topic("orders", retention_bytes="1000", retention_ms="-1")
    node.create_topic("state", retention_ms="1", cleanup_policy="compact")
    for topic in ("orders", "state"):
        for _ in range(3):
            append(node, batch("x" * 900, timestamp=1000), topic=topic)
            node.replica(topic).log.roll(node.world.now_ms())
    asyncio.run(upkeep(node).retain())
    assert node.replica("orders").log.log_start_offset == 1, "what stays is not less than retention.bytes"
    assert node.replica("state").log.log_start_offset == 0


def test_a_checkpoint_says_what_is_on_the_disk(node: Any, batch: Any, tmp_path: Path) -> None:
    node.create_topic("orders")
    append(node, batch("a", "b"))
    assert node.replica("orders").log.recovery_point == 0
    asyncio.run(upkeep(node).checkpoint())
    assert node.replica("orders").log.recovery_point == 2
    recovery = (node.config.data_dir / "recovery-point-offset-checkpoint").read_text()
    assert recovery.splitlines() == ["0", "1", "orders 0 2"]


def test_a_partition_that_went_before_its_turn_leaves_no_segment_in_the_next_one_of_that_name(
    node: Any, batch: Any
) -> None:
    node.create_topic("first")
    topic_id = node.create_topic("orders")
    append(node, batch("a"), topic="first")
    append(node, batch("a"))
    node.replica("orders").log.roll(node.world.now_ms())
    append(node, batch("b"))

    async def scenario() -> None:
        flushing = asyncio.create_task(upkeep(node).checkpoint())
        await asyncio.sleep(0)
        node.learn(r.TopicDeleted(topic_id))
        node.create_topic("orders")
        await flushing

    asyncio.run(scenario())
    assert [path.name for path in node.replica("orders").log.directory.glob("*.log")] == [f"{0:020d}.log"]


def test_a_flush_that_failed_is_told_once_and_not_tried_again(
    node: Any, batch: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.create_topic("orders", flush_ms="0")
    append(node, batch("a"))

    def broken(_: int) -> None:
        raise OSError("input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", broken)
        asyncio.run(upkeep(node).flush_due())
    for chore in (Upkeep.flush_due, Upkeep.checkpoint, Upkeep.flush_all):
        asyncio.run(chore(upkeep(node)))
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == [
        "flush failed partition=orders-0 reason=input/output error"
    ]
    assert node.replica("orders").log.recovery_point == 0


def test_flush_ms_is_kept_per_topic(node: Any, batch: Any) -> None:
    node.create_topic("orders", flush_ms="0")
    node.create_topic("lazy")
    for topic in ("orders", "lazy"):
        append(node, batch("a"), topic=topic)
    asyncio.run(upkeep(node).flush_due())
    assert [node.replica(topic).log.recovery_point for topic in ("orders", "lazy")] == [1, 0]
