"""A simulated disk loses what it may lose and nothing else, and shows its faults where they are switched on."""

import errno
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from millstream_log.atomic_file import replace_file
from millstream_log.disk import make_directories, remove_tree
from millstream_simulation.disks.sim_disk import SimDisk


def write(disk: SimDisk, path: Path, data: bytes, *, sync: bool = False) -> None:
    fd = disk.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        disk.write(fd, data, 0)
        if sync:
            disk.fsync(fd)
    finally:
        disk.close(fd)


def contents(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.fixture
def outcomes(tmp_path: Path) -> Callable[[Callable[[SimDisk], None]], list[dict[str, bytes]]]:
    """What may be there after a power loss at the end of some course."""

    def all_of(course: Callable[[SimDisk], None]) -> list[dict[str, bytes]]:
        found: list[dict[str, bytes]] = []
        for seed in range(60):
            root = tmp_path / str(seed)
            root.mkdir()
            disk = SimDisk(root, random.Random(seed))
            course(disk)
            disk.lose_power()
            if (left := contents(root)) not in found:
                found.append(left)
            disk.lose_power()
            assert contents(root) == left, "what has survived once is on the disk"
        return found

    return all_of


def test_a_flushed_file_without_a_flushed_name_may_be_gone_and_no_worse(outcomes) -> None:
    found = outcomes(lambda disk: write(disk, disk.root / "file", b"data", sync=True))
    assert sorted(found, key=len) == [{}, {"file": b"data"}]


def test_a_flushed_name_without_flushed_data_may_be_empty(outcomes) -> None:
    def course(disk: SimDisk) -> None:
        write(disk, disk.root / "file", b"data")
        disk.sync_directory(disk.root)

    found = outcomes(course)
    assert {} not in found
    assert {"file": b""} in found
    assert {"file": b"data"} in found


def test_a_file_replaced_durably_is_the_old_one_or_the_new_one(outcomes) -> None:
    def course(disk: SimDisk) -> None:
        replace_file(disk.root / "file", b"one", durable=True, disk=disk)
        replace_file(disk.root / "file", b"two", durable=True, disk=disk)
        write(disk, disk.root / "file.tmp", b"three", sync=True)
        disk.rename(disk.root / "file.tmp", disk.root / "file")

    found = [{name: data for name, data in left.items() if name == "file"} for left in outcomes(course)]
    assert {left["file"] for left in found} == {b"two", b"three"}


def test_a_file_replaced_without_flush_may_be_empty(outcomes) -> None:
    def course(disk: SimDisk) -> None:
        replace_file(disk.root / "file", b"one", durable=True, disk=disk)
        replace_file(disk.root / "file", b"two", disk=disk)
        disk.sync_directory(disk.root)

    assert {"file": b""} in outcomes(course)


def test_names_come_back_in_the_reverse_order(outcomes) -> None:
    def course(disk: SimDisk) -> None:
        for name in "ab":
            write(disk, disk.root / name, name.encode(), sync=True)
        disk.sync_directory(disk.root)
        disk.rename(disk.root / "a", disk.root / "c")
        disk.unlink(disk.root / "b")
        disk.rename(disk.root / "c", disk.root / "b")

    found = outcomes(course)
    assert {"a": b"a", "b": b"b"} in found
    assert {"b": b"a"} in found
    assert all(left in ({"a": b"a", "b": b"b"}, {"c": b"a", "b": b"b"}, {"c": b"a"}, {"b": b"a"}) for left in found)


def test_a_removed_tree_may_be_back_whole_or_in_part(outcomes) -> None:
    def course(disk: SimDisk) -> None:
        make_directories(disk, disk.root / "outer" / "inner")
        write(disk, disk.root / "outer" / "inner" / "file", b"data", sync=True)
        for directory in (disk.root / "outer" / "inner", disk.root / "outer", disk.root):
            disk.sync_directory(directory)
        remove_tree(disk, disk.root / "outer")

    found = outcomes(course)
    assert {"outer/inner/file": b"data"} in found
    assert {} in found


def test_a_tree_whose_removal_was_flushed_stays_away(outcomes) -> None:
    def course(disk: SimDisk) -> None:
        make_directories(disk, disk.root / "outer")
        write(disk, disk.root / "outer" / "file", b"data")
        disk.sync_directory(disk.root)
        remove_tree(disk, disk.root / "outer")
        disk.sync_directory(disk.root)

    assert outcomes(course) == [{}]


def test_a_killed_process_leaves_everything_as_it_was_written(tmp_path: Path) -> None:
    disk = SimDisk(tmp_path, random.Random(1))
    write(disk, tmp_path / "file", b"data")
    assert contents(tmp_path) == {"file": b"data"}


@pytest.fixture
def seen() -> Counter[str]:
    return Counter()


@pytest.fixture
def disk(tmp_path: Path, seen: Counter[str]) -> SimDisk:
    (tmp_path / "root" / "orders-0").mkdir(parents=True)

    def note(situation: str) -> None:
        seen[situation] += 1

    return SimDisk(tmp_path / "root", random.Random(1), note)


def test_a_full_disk_takes_what_there_is_room_for_and_more_when_there_is_again(
    disk: SimDisk, seen: Counter[str]
) -> None:
    path = disk.root / "file"
    fd = disk.open(path, os.O_RDWR | os.O_CREAT)
    disk.faults.room_bytes = 10
    assert disk.pwrite(fd, b"x" * 16, 0) == 10
    with pytest.raises(OSError, match="No space"):
        disk.pwrite(fd, b"x", 10)
    assert disk.pwrite(fd, b"yy", 8) == 2, "what is there already takes no room"
    for refused in (lambda: disk.open(disk.root / "other", os.O_CREAT), lambda: disk.mkdir(disk.root / "other")):
        with pytest.raises(OSError, match="No space"):
            refused()
    disk.faults.mend()
    assert disk.pwrite(fd, b"x" * 6, 10) == 6
    disk.close(fd)
    assert path.read_bytes() == b"x" * 8 + b"yy" + b"x" * 6
    assert seen["disk full"] == 3


def test_one_directory_fails_and_the_others_do_not(disk: SimDisk, seen: Counter[str]) -> None:
    bad, good = disk.root / "orders-0" / "log", disk.root / "log"
    write(disk, bad, b"data")
    disk.faults.unreadable.add(bad.parent)
    disk.faults.unwritable.add(bad.parent)
    fd = disk.open(bad, os.O_RDWR)
    for refused in (
        lambda: disk.pread(fd, 1, 0),
        lambda: disk.pread_resident(fd, bytearray(1), 0),
        lambda: disk.pwrite(fd, b"x", 0),
        lambda: disk.ftruncate(fd, 0),
        lambda: disk.rename(bad, bad.with_name("other")),
        lambda: disk.unlink(bad),
    ):
        with pytest.raises(OSError, match="Input/output") as error:
            refused()
        assert error.value.errno == errno.EIO
    write(disk, good, b"data")
    assert seen == {"EIO on read": 2, "EIO on write": 4}
    disk.faults.mend()
    assert disk.pread(fd, 9, 0) == b"data"
    disk.close(fd)


def test_a_flush_fails_once_and_what_it_was_for_is_gone(disk: SimDisk, seen: Counter[str]) -> None:
    path = disk.root / "orders-0" / "log"
    write(disk, path, b"flushed ", sync=True)
    disk.sync_directory(path.parent)
    fd = disk.open(path, os.O_RDWR)
    disk.write(fd, b"data", 8)
    disk.faults.unflushable.add(path.parent)
    with pytest.raises(OSError, match="Input/output"):
        disk.fdatasync(fd)
    disk.fdatasync(fd)
    assert path.read_bytes() == b"flushed data", "memory still has it"
    disk.forget(fd, 0)
    assert path.read_bytes() == b"flushed \0\0\0\0", "the disk never had it"
    disk.close(fd)
    assert seen == {"flush failed": 1}


def test_a_read_that_may_not_wait_may_find_nothing_in_memory(disk: SimDisk, seen: Counter[str]) -> None:
    write(disk, disk.root / "file", b"data")
    disk.faults.cold = 1.0
    fd = disk.open(disk.root / "file", os.O_RDONLY)
    assert disk.read_resident(fd, 4, 0) is None
    assert disk.read(fd, 4, 0) == b"data"
    disk.close(fd)
    assert seen == {"cold read": 1}


def test_another_disk_has_nothing_of_the_first(disk: SimDisk) -> None:
    write(disk, disk.root / "orders-0" / "log", b"data", sync=True)
    disk.empty()
    disk.lose_power()
    assert contents(disk.root) == {}


def test_a_lost_directory_does_not_come_back(disk: SimDisk) -> None:
    write(disk, disk.root / "orders-0" / "log", b"data")
    write(disk, disk.root / "file", b"data")
    disk.lose_directory(disk.root / "orders-0")
    disk.lose_power()
    assert contents(disk.root) == {"file": b"data"}
