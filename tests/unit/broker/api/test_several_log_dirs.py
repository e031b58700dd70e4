"""DescribeLogDirs and AlterReplicaLogDirs of a broker with two directories."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream_broker.shell.partition.moves import Moves
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import AlterReplicaLogDirsRequest, DescribeLogDirsRequest
from millstream_wire.messages.alter_replica_log_dirs import AlterReplicaLogDir, AlterReplicaLogDirTopic


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
