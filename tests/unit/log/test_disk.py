"""Whatever the package does to files goes by way of its disk."""

import os
from pathlib import Path

import pytest

from millstream_log import DataDir, LogConfig, TopicPartition
from millstream_log.disk import DISK, Disk, make_directories, remove_tree, unlink_if_there

KEY = TopicPartition("orders", 0)
CONFIG = LogConfig(segment_bytes=300, index_interval_bytes=100)


class Noting(Disk):
    """Knows which names it was asked to make, move and remove."""

    def __init__(self) -> None:
        self.names: set[Path] = set()

    def open(self, path: Path, flags: int) -> int:
        fd = super().open(path, flags)
        if flags & os.O_CREAT:
            self.names.add(path)
        return fd

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        moved = {path for path in self.names if source in (path, *path.parents)}
        self.names = self.names - moved | {target / path.relative_to(source) for path in moved}

    def unlink(self, path: Path) -> None:
        super().unlink(path)
        self.names.remove(path)

    def mkdir(self, path: Path) -> None:
        super().mkdir(path)
        self.names.add(path)

    def rmdir(self, path: Path) -> None:
        super().rmdir(path)
        self.names.remove(path)


def names_in(directory: Path) -> set[Path]:
    return {path for path in directory.rglob("*") if path.name != ".lock"}


def test_no_name_is_made_moved_or_removed_beside_the_disk(tmp_path: Path, make) -> None:
    disk = Noting()
    data = DataDir(tmp_path / "a" / "data", node_id=1, cluster_id="cluster", disk=disk)
    log = data.open_log(KEY, None, CONFIG, now_ms=0)
    for _ in range(10):
        log.append(*make(2, value=bytes(50)), leader_epoch=0, now_ms=0)
    for path in log.doom_segments(2):
        disk.unlink(path)
    log.truncate_to(log.log_end_offset - 1, now_ms=0)
    assert names_in(tmp_path) == disk.names
    data.close()
    assert names_in(tmp_path) == disk.names
    data = DataDir(tmp_path / "a" / "data", node_id=1, cluster_id="cluster", disk=disk)
    data.open_log(KEY, None, CONFIG, now_ms=0)
    remove_tree(disk, data.doom_log(KEY))
    data.close()
    assert names_in(tmp_path) == disk.names


def test_trees_are_made_where_missing_and_removed_whole(tmp_path: Path) -> None:
    make_directories(DISK, tmp_path / "a" / "b")
    make_directories(DISK, tmp_path / "a" / "b")
    (tmp_path / "a" / "b" / "file").write_bytes(b"x")
    (tmp_path / "a" / "link").symlink_to(tmp_path)
    remove_tree(DISK, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
    unlink_if_there(DISK, tmp_path / "a")


def test_what_is_in_the_way_of_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    with pytest.raises(OSError, match="a"):
        make_directories(DISK, tmp_path / "a" / "b")


def test_directories_that_another_process_makes_at_the_same_time_are_no_error(tmp_path: Path) -> None:
    class Late(Disk):
        """Whatever it is to make, somebody else has just made."""

        def mkdir(self, path: Path) -> None:
            path.mkdir()
            super().mkdir(path)

    make_directories(Late(), tmp_path / "store" / "log")
    assert (tmp_path / "store" / "log").is_dir()
