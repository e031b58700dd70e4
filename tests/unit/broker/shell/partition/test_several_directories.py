"""What several data directories remember together, and how they are opened."""

import random
import shutil
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from millstream_broker.shell.partition.applied_metadata import FILE_NAME, AppliedMetadata
from millstream_broker.shell.partition.log_dirs import LogDirs
from millstream_broker.shell.partition.open_log_dirs import open_log_dirs
from millstream_log import UnusableDirectory
from millstream_log.disk import DISK
from millstream_runtime.nodes.follower import Applied

TOPIC = UUID(int=77)


def opened(*paths: Path, node_id: int = 1, cluster_id: str | None = "cluster") -> LogDirs:
    return open_log_dirs(
        paths, node_id=node_id, cluster_id=cluster_id, new_id=uuid4, disk=DISK, generator=random.Random(1)
    )


def noted(directories: LogDirs, places: dict[Any, UUID], offset: int = 5) -> AppliedMetadata:
    applied = AppliedMetadata(directories)
    applied.note(Applied(offset, 1, "cluster"), places)
    return applied


def test_each_directory_remembers_what_is_in_all_of_them(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    both = opened(a, b)
    first, second = both.ids
    noted(both, {(TOPIC, 0): first, (TOPIC, 1): second})
    both.close_all()
    shutil.rmtree(a)
    left = opened(a, b)
    assert [each.path for each in left.offline] == [a], "it was there, so it is not made anew"
    assert left.offline_ids == [first]
    assert AppliedMetadata(left).places == {(TOPIC, 0): first, (TOPIC, 1): second}
    left.close_all()
    a.mkdir()
    replaced = opened(a, b)
    assert replaced.offline == []
    assert first not in replaced.ids
    assert not replaced.may_be_offline(first, a)


def test_the_newest_copy_counts(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    both = opened(a, b)
    first, second = both.ids
    noted(both, {(TOPIC, 0): first})
    older = (a / FILE_NAME).read_bytes()
    noted(both, {(TOPIC, 0): second}, offset=6)
    both.close_all()
    (a / FILE_NAME).write_bytes(older)
    both = opened(a, b)
    applied = AppliedMetadata(both)
    assert applied.places == {(TOPIC, 0): second}
    applied.note(Applied(6, 1, "cluster"))
    assert (a / FILE_NAME).read_bytes() == (b / FILE_NAME).read_bytes(), "the older one is made good"
    both.close_all()


def test_a_second_directory_joins_the_first(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    alone = opened(a)
    (first,) = alone.ids
    noted(alone, {(TOPIC, 0): first})
    alone.close_all()
    for paths in ((b, a), (a, b)):
        both = opened(*paths)
        assert both.incarnation_id == first
        assert AppliedMetadata(both).places == {(TOPIC, 0): first}
        AppliedMetadata(both).note(Applied(5, 1, "cluster"))
        both.close_all()
    shutil.rmtree(a)
    left = opened(a, b)
    assert left.incarnation_id == first, "the node is the same without the directory that gave it its id"
    left.close_all()


def test_a_proof_of_a_clean_stop_has_to_be_in_all_of_them(tmp_path: Path) -> None:
    a, b, c = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    both = opened(a, b)
    for directory in both.online:
        directory.close(broker_epoch=7)
    three = opened(a, b, c)
    assert (three.clean_broker_epoch, three.was_clean) == (7, True), "a new one has nothing to prove"
    three.online[0].close(broker_epoch=9)
    three.online[2].close(broker_epoch=9)
    three.close_all()
    again = opened(a, b, c)
    assert (again.clean_broker_epoch, again.was_clean) == (-1, False)
    again.close_all()


def test_what_is_not_ours_is_no_failed_directory(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    opened(b, node_id=2).close_all()
    with pytest.raises(UnusableDirectory, match="belongs to node 2"):
        opened(a, b)
    other = opened(tmp_path / "c")
    with pytest.raises(UnusableDirectory, match="in use"):
        opened(a, tmp_path / "c")
    other.close_all()
    opened(a).close_all()  # nothing is still locked


def test_a_node_does_not_begin_anew_because_its_data_cannot_be_reached(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    opened(a).close_all()
    (a / "meta.properties").write_text("no properties")
    for _ in range(2):
        with pytest.raises(UnusableDirectory, match="not in any directory"):
            opened(a, b)
    (b / "meta.properties").mkdir()
    with pytest.raises(UnusableDirectory, match="none of the directories"):
        opened(a, b)
