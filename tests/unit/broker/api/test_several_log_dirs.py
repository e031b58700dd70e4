"""DescribeLogDirs and AlterReplicaLogDirs of a broker with two directories."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from millstream_broker.shell.partition.moves import Moves
from millstream_broker.shell.partition.spare_room import SpareRoom
from millstream_cluster.ids import LOST_DIRECTORY, UNASSIGNED_DIRECTORY, LeaderEpoch, NodeId
from millstream_log import TopicPartition
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterReplicaLogDirsRequest, DescribeLogDirsRequest
from millstream_wire.messages.alter_replica_log_dirs import AlterReplicaLogDir, AlterReplicaLogDirTopic
from millstream_wire.records import Record, check, encode_batch


@pytest.fixture
def two(new_broker: Any, tmp_path: Path) -> Iterator[Any]:
    node = new_broker(tmp_path / "a", other_data_dirs=(tmp_path / "b",))
    node.start()
    node.broker.moves = Moves(
        node.partitions,
        node.world,
        settle=node.hosting.on_moved,
        bytes_per_s=lambda: node.broker.config.fetch_max_bytes,
    )
    yield node
    node.partitions.abandon()


def follow(node: Any) -> UUID:
    """A partition that is here and that broker 2 leads."""
    topic_id: UUID = node.create_topic("orders")
    nodes = (NodeId(1), NodeId(2))
    known = node.image.partition(topic_id, 0)
    node.learn(known.changed(replicas=nodes, isr=nodes, leader=NodeId(2), leader_epoch=LeaderEpoch(4)))
    return topic_id


def asked(node: Any, path: Path, topic: str = "orders") -> ErrorCode:
    topics = [AlterReplicaLogDirTopic(name=topic, partitions=[0])]
    answer = node.call(AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=str(path), topics=topics)]), 2)
    return ErrorCode(answer.results[0].partitions[0].error_code)


def described(node: Any) -> dict[str, tuple[int, list[tuple[str, int, bool]], bool]]:
    """Error, partitions (topic, lag, on their way) and whether it is cordoned, of each directory."""
    answer = node.call(DescribeLogDirsRequest(topics=None), 5)
    return {
        Path(each.log_dir).name: (
            each.error_code,
            [(topic.name, part.offset_lag, part.is_future_key) for topic in each.topics for part in topic.partitions],
            each.is_cordoned,
        )
        for each in answer.results
    }


def test_what_is_on_its_way_is_shown_where_it_goes(two: Any, tmp_path: Path) -> None:
    two.create_topic("orders")
    assert asked(two, tmp_path / "b") is ErrorCode.NONE
    assert described(two) == {"a": (0, [("orders", 0, False)], False), "b": (0, [("orders", 0, True)], False)}
    assert asked(two, tmp_path / "a") is ErrorCode.NONE
    assert described(two)["b"] == (0, [], False)


def test_what_cannot_be_asked_for(two: Any, tmp_path: Path) -> None:
    two.create_topic("orders")
    assert asked(two, tmp_path / "c") is ErrorCode.LOG_DIR_NOT_FOUND
    assert asked(two, Path("a")) is ErrorCode.LOG_DIR_NOT_FOUND
    assert asked(two, tmp_path / "b", "nowhere") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    two.directories.on_error(tmp_path / "b", OSError(5, "Input/output error"))
    two.hosting.on_directories_failed(two.directories.take_failed())
    assert asked(two, tmp_path / "b") is ErrorCode.KAFKA_STORAGE_ERROR
    assert described(two)["b"] == (ErrorCode.KAFKA_STORAGE_ERROR, [], False)


def test_a_partition_that_comes_goes_where_it_was_wanted(two: Any, tmp_path: Path) -> None:
    assert asked(two, tmp_path / "b", "orders") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    two.create_topic("orders")
    two.create_topic("others")
    assert {name: topics[0][0] for name, (_, topics, _) in described(two).items()} == {"b": "orders", "a": "others"}


def test_a_cordoned_directory_gets_no_new_partition(new_broker: Any, tmp_path: Path) -> None:
    node = new_broker(tmp_path / "a", other_data_dirs=(tmp_path / "b",), cordoned_log_dirs=(str(tmp_path / "a"),))
    node.start()
    for topic in ("t1", "t2"):
        node.create_topic(topic)
    found = described(node)
    assert found["a"] == (0, [], True)
    assert [topic for topic, _, _ in found["b"][1]] == ["t1", "t2"]
    node.partitions.abandon()


@pytest.mark.parametrize("by_snapshot", [False, True], ids=["by a record", "by a snapshot"])
def test_what_the_controller_has_given_up_is_made_in_the_other_directory(
    two: Any, tmp_path: Path, by_snapshot: bool
) -> None:
    topic_id = follow(two)
    assert list(described(two)["a"][1]) == [("orders", 0, False)]
    two.directories.on_error(tmp_path / "a", OSError(5, "Input/output error"))
    two.hosting.on_directories_failed(two.directories.take_failed())
    assert two.partitions.find("orders", 0) is None
    known = two.image.partition(topic_id, 0)
    other = NodeId(2)
    two.learn(known.changed(isr=(other,), directories=(UUID(int=7), UNASSIGNED_DIRECTORY)))
    assert two.partitions.find("orders", 0) is None, "it is waited for"
    given_up = two.image.partition(topic_id, 0).changed(directories=(LOST_DIRECTORY, UNASSIGNED_DIRECTORY))
    if by_snapshot:
        two.image.apply(given_up, two.image.offset + 1)
        two.hosting.start(two.image)
    else:
        two.learn(given_up)
    assert list(described(two)["b"][1]) == [("orders", 0, False)]
    assert two.partitions.misplaced == {(topic_id, 0): two.replica("orders").directory.directory_id}, "to be told"


def test_it_is_made_where_there_is_most_room_unless_somebody_wants_it_elsewhere(two: Any, tmp_path: Path) -> None:
    room = SpareRoom(two.partitions, lambda path: (1000, 300 if path.name == "a" else 500))
    assert room.roomiest().path == tmp_path / "b"
    name = TopicPartition("orders", 0)
    two.directories.prefer(name, two.directories.online[0])
    two.directories.suggest(name, room.roomiest())
    two.create_topic("orders")
    assert described(two)["a"][1] == [("orders", 0, False)]


def test_a_directory_fits_into_the_others_with_a_tenth_of_them_to_spare(two: Any, tmp_path: Path) -> None:
    usable = {"b": 0}
    room = SpareRoom(two.partitions, lambda path: (1000, usable[path.name]))
    topic_id = follow(two)
    replica = two.replica("orders")
    batch = bytearray(encode_batch([Record(0, 1, b"k", bytes(200))]))
    replica.log.append(batch, check(batch), leader_epoch=3, now_ms=1)
    assert room.replaceable() == []
    room.note(replica.directory)
    two.directories.on_error(tmp_path / "a", OSError(5, "Input/output error"))
    two.hosting.on_directories_failed(two.directories.take_failed())
    for bytes_left, fits in ((99 + len(batch), False), (100 + len(batch), True)):
        usable["b"] = bytes_left
        assert bool(room.replaceable()) is fits
    assert room.replaceable() == [replica.directory.directory_id]
    assert two.partitions.offline == {(topic_id, 0): replica.directory.directory_id}
