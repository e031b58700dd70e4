"""HostedPartitions in line with the metadata: made, configured, deleted, set aside, and found again after a restart."""

import asyncio
import errno
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from millstream_broker.shell.partition import applied_metadata, hosting
from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE, UNOPENED_DIRECTORY, BrokerEpoch, LeaderEpoch, NodeId, PartitionEpoch
from millstream_cluster.metadata_version import MetadataVersion
from millstream_log import DataDir
from millstream_wire.errors import ErrorCode
from millstream_wire.records import check


def append(node: Any, batch: bytes, topic: str = "orders") -> None:
    replica = node.replica(topic)
    data = bytearray(batch)
    replica.log.append(data, check(data), leader_epoch=3, now_ms=1)
    replica.partition.on_appended(replica.log.log_end_offset, len(batch))


def refuse_io(*_: Any, **__: Any) -> Any:
    raise OSError(errno.EIO, "Input/output error")


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


def test_a_deleted_partition_whose_files_cannot_be_moved_stops_nobody(
    node: Any, batch: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Seed 88: a disk that gave EIO ended the broker when a topic was deleted."""
    topic_id = node.create_topic("orders")
    node.create_topic("payments")
    monkeypatch.setattr(DataDir, "doom_log", refuse_io)
    node.learn(r.TopicDeleted(topic_id))
    assert "partition's files stay partition=orders-0" in caplog.text
    append(node, batch("a"), "payments")
    assert node.replica("payments").log.log_end_offset == 1


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


def test_a_partition_whose_log_holds_what_nobody_reads_is_left_out_and_said(
    new_broker: Any, tmp_path: Path, batch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    first = new_broker(tmp_path)
    first.start()
    for topic in ("bad", "good"):
        first.create_topic(topic)
        append(first, batch("a"), topic)
        first.replica(topic).log.roll(1)
    first.partitions.close(1)
    (tmp_path / "bad-0" / "leader-epoch-checkpoint").unlink()
    (segment, _) = sorted((tmp_path / "bad-0").glob("*.log"))
    segment.write_bytes(bytes(segment.stat().st_size))
    second = new_broker(tmp_path)
    assert [replica.topic for replica in second.partitions] == ["good"]
    assert "partition not opened partition=bad-0" in caplog.text
    bad = second.create_topic("bad")
    second.create_topic("good")
    second.start()
    assert list(second.partitions.failed) == [(bad, 0)]
    assert second.replica("good").partition.leads
    second.partitions.abandon()


def test_a_broker_is_not_let_in_before_it_is_known_what_it_cannot_open(
    new_broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or it is elected for that, and nobody else leads (seed 953)."""
    first = new_broker(tmp_path)
    first.start()
    first.create_topic("orders")
    first.partitions.abandon()

    with monkeypatch.context() as patch:
        patch.setattr(DataDir, "open_log", refuse_io)
        second = new_broker(tmp_path)
        second.learn(r.MetadataVersionSet(MetadataVersion.RELEASE_0_2))
        topic_id = second.create_topic("orders")
        second.start()
    assert second.partitions.misplaced == {(topic_id, 0): UNOPENED_DIRECTORY}, "to be told"
    assert second.hosting.settled_offset == -1
    known = second.image.partition(topic_id, 0)
    second.learn(known.changed(leader=NO_NODE, directories=(UNOPENED_DIRECTORY,)))
    assert second.hosting.settled_offset == second.image.offset

    async def opened() -> None:
        monkeypatch.setattr(hosting, "RETRY_FAILED_MS", 1)
        making = asyncio.create_task(second.hosting.run())
        async with asyncio.timeout(10):
            while second.partitions.failed or second.partitions.unlisted:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        making.cancel()

    asyncio.run(opened())
    place = second.replica("orders").directory.directory_id
    assert second.partitions.misplaced == {(topic_id, 0): place}, "to be told as well"
    assert second.hosting.settled_offset == second.image.offset
    second.partitions.abandon()


def test_what_was_never_made_here_is_made_however_often_it_could_not_be(
    new_broker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not taken for lost after a restart: there never was a log."""
    first = new_broker(tmp_path)
    first.start()
    with monkeypatch.context() as patch:
        patch.setattr(DataDir, "open_log", refuse_io)
        topic_id = first.create_topic("orders")
    first.partitions.abandon()
    second = new_broker(tmp_path)
    second.create_topic("orders")
    known = second.image.partition(topic_id, 0)
    second.learn(known.changed(leader=NO_NODE, directories=(UNOPENED_DIRECTORY,)))
    second.start()
    assert not second.partitions.lost
    assert second.replica("orders").log.log_end_offset == 0
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


def test_a_broker_that_is_told_that_it_is_fenced_leads_again_only_by_later_metadata(node: Any) -> None:
    topic_id, us, both = UUID(int=77), NodeId(1), (NodeId(1), NodeId(2))
    node.create_topic("alone")
    node.learn(
        r.TopicCreated("orders", topic_id, False),
        r.PartitionCreated(topic_id, 0, both, both, us, LeaderEpoch(0), PartitionEpoch(0)),
    )
    replica = node.replica("orders")
    assert replica.partition.leads
    node.hosting.on_session_lost()
    assert not replica.partition.leads
    assert node.replica("alone").partition.leads
    node.learn(r.PartitionChanged(topic_id, 0, both, both, us, LeaderEpoch(1), PartitionEpoch(1)))
    assert not replica.partition.leads, "an earlier record, which the fencing follows"
    node.learn(r.NodeFenced(us, BrokerEpoch(1)))
    node.learn(r.PartitionChanged(topic_id, 0, both, both, us, LeaderEpoch(2), PartitionEpoch(2)))
    assert not replica.partition.leads
    node.learn(r.NodeUnfenced(us, BrokerEpoch(1)))
    assert replica.partition.leads


def changed(topic_id: UUID, epoch: int, *, isr: tuple[int, ...], leader: int) -> r.PartitionChanged:
    nodes = tuple(NodeId(node) for node in isr)
    return r.PartitionChanged(
        topic_id, 0, (NodeId(1),), nodes, NodeId(leader), LeaderEpoch(3 + epoch), PartitionEpoch(epoch)
    )


def restarted_without(new_broker: Any, data_dir: Path, topic: str) -> tuple[Any, UUID]:
    """A broker that knows its metadata and does not have one directory that it had; and the topic's id."""
    first = new_broker(data_dir)
    first.start()
    topic_id = first.create_topic(topic)
    first.partitions.close(1)
    shutil.rmtree(data_dir / f"{topic}-0")
    second = new_broker(data_dir)
    second.create_topic(topic)
    second.start()
    return second, topic_id


def test_a_broker_with_a_loss_that_nobody_knows_of_says_that_it_is_not_up_to_date(
    new_broker: Any, tmp_path: Path
) -> None:
    """So the controller does not let it in, and does not elect it for what it has lost."""
    node, topic_id = restarted_without(new_broker, tmp_path, "orders")
    assert node.partitions.untold == [(topic_id, 0)]
    assert node.hosting.settled_offset == -1
    assert node.broker.locate("orders", 0) is ErrorCode.KAFKA_STORAGE_ERROR
    node.learn(changed(topic_id, 1, isr=(), leader=-1))
    assert node.partitions.untold == []
    assert node.hosting.settled_offset == node.image.offset
    assert names(tmp_path) == []
    node.learn(changed(topic_id, 2, isr=(1,), leader=1))
    assert node.replica("orders").partition.leads, "an unclean election: a person accepted the loss"
    node.partitions.abandon()


@pytest.mark.parametrize("counted", [{"eligible_leader_replicas": (NodeId(1),)}, {"last_known_elr": (NodeId(1),)}])
def test_a_loss_is_told_while_the_broker_may_be_elected(new_broker: Any, tmp_path: Path, counted: Any) -> None:
    """Out of the ISR by another cause: the controller does not know what is gone."""
    node, topic_id = restarted_without(new_broker, tmp_path, "orders")
    node.learn(replace(changed(topic_id, 1, isr=(), leader=-1), **counted))
    assert node.partitions.untold == [(topic_id, 0)]
    assert node.hosting.settled_offset == -1
    node.learn(changed(topic_id, 2, isr=(), leader=-1))
    assert node.partitions.untold == []
    node.partitions.abandon()


def test_a_loss_ends_with_its_topic(new_broker: Any, tmp_path: Path) -> None:
    node, topic_id = restarted_without(new_broker, tmp_path, "orders")
    assert node.partitions.lost
    node.learn(r.TopicDeleted(topic_id))
    assert not node.partitions.lost
    node.create_topic("others")
    assert (topic_id, 0) not in node.applied.listed
    node.partitions.abandon()


def test_what_is_here_serves_before_the_metadata_is_proven_and_nothing_else_happens(
    new_broker: Any, tmp_path: Path, batch: Any
) -> None:
    first = new_broker(tmp_path)
    first.start()
    first.create_topic("orders")
    first.create_topic("elsewhere", leader=2)
    first.create_topic("unexplained")
    append(first, batch("a"))
    first.partitions.close(1)
    second = new_broker(tmp_path)
    second.create_topic("orders")
    second.hosting.serve(second.image)
    second.create_topic("new")
    assert second.replica("orders").partition.leads
    assert not second.replica("unexplained").partition.leads
    assert names(tmp_path) == ["orders-0", "unexplained-0"]
    assert second.hosting.settled_offset == -1
    second.start()
    assert [name for name in names(tmp_path) if not name.endswith("-stray")] == ["new-0", "orders-0"]
    assert second.hosting.settled_offset == second.image.offset
    second.partitions.abandon()


def test_no_directory_is_made_while_the_disk_does_not_take_the_note(node: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        with monkeypatch.context() as patched:

            def refuse(*_: Any) -> None:
                raise OSError(28, "No space left on device")

            patched.setattr(applied_metadata, "store_properties", refuse)
            patched.setattr(hosting, "RETRY_FAILED_MS", 1)
            node.create_topic("orders")
            making = asyncio.create_task(node.hosting.run())
            await asyncio.sleep(0.02)
            assert names(node.config.data_dir) == []
            patched.undo()
            async with asyncio.timeout(10):
                # It leads a little later than it is there: once the disk lists it, with other work served in between.
                while not (node.partitions.keys and node.replica("orders").partition.leads):  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
            making.cancel()

    asyncio.run(scenario())


def test_a_directory_that_does_not_say_what_it_holds_is_touched_only_when_the_metadata_is_proven(
    new_broker: Any, tmp_path: Path
) -> None:
    (tmp_path / "orders-0").mkdir()
    node = new_broker(tmp_path)
    node.hosting.serve(node.image)
    assert names(tmp_path) == ["orders-0"]
    node.start()
    (stray,) = names(tmp_path)
    assert stray.endswith("-stray")
    node.partitions.abandon()
