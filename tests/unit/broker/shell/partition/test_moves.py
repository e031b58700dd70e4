"""Replicas that move between the directories of one broker, and what is there if it dies on the way."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from millstream_broker.shell.partition.moves import Moves
from millstream_cluster import records as r
from millstream_log.disk import Disk
from millstream_log.future_log import FutureLog
from millstream_wire.records import check, decode_batches


class Killed(BaseException): ...


class Counting(Disk):
    """Counts what changes the disk; the process dies just before the call of that number."""

    def __init__(self) -> None:
        self.calls = 0
        self.dies_at = -1

    def _count(self) -> None:
        if self.calls == self.dies_at:
            raise Killed
        self.calls += 1

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        self._count()
        return super().pwrite(fd, data, position)

    def rename(self, source: Path, target: Path) -> None:
        self._count()
        super().rename(source, target)

    def mkdir(self, path: Path) -> None:
        self._count()
        super().mkdir(path)

    def unlink(self, path: Path) -> None:
        self._count()
        super().unlink(path)

    def sync_directory(self, directory: Path) -> None:
        self._count()
        super().sync_directory(directory)


class Moving:
    """A broker with directories a and b, and the topic `orders` in a."""

    def __init__(self, new_broker: Any, path: Path, batch: Any, disk: Disk | None = None) -> None:
        self.path = path
        self.batch = batch
        self.disk = disk if disk is not None else Disk()
        self.new_broker = new_broker
        self.node = self._opened()
        self.node.start()
        self.topic_id: UUID = self.node.create_topic("orders", segment_bytes="1048576")
        self.moves = self._moves()

    def _opened(self) -> Any:
        return self.new_broker(self.path / "a", self.disk, other_data_dirs=(self.path / "b",))

    def _moves(self) -> Moves:
        hosting, config = self.node.hosting, self.node.broker.config
        return Moves(
            self.node.partitions,
            self.node.world,
            settle=hosting.on_moved,
            bytes_per_s=lambda: config.log_dirs_bytes_per_s,
        )

    @property
    def replica(self) -> Any:
        return self.node.replica("orders")

    def append(self, *values: str, **options: Any) -> None:
        for value in values:
            data = bytearray(self.batch(value, **options))
            replica = self.replica
            replica.log.append(data, check(data), leader_epoch=3, now_ms=1)
            self.node.broker.appended(replica, len(data))

    def values(self) -> list[str]:
        log, found, offset = self.replica.log, [], self.replica.log.log_start_offset
        while (read := log.read(offset, 1 << 20)) is not None:
            found += [
                (each.value or b"").decode() for each in decode_batches(read.slice.read()) if each.offset >= offset
            ]
            offset = read.next_offset
        return found

    def goal(self, name: str) -> Any:
        return next(each for each in self.node.directories.online if each.path.name == name)

    def restart(self) -> None:
        """As after a kill."""
        self.node.partitions.abandon()
        image = self.node.image
        self.node = self._opened()
        self.node.image = image
        self.node.start()
        self.moves = self._moves()

    def directories(self) -> list[str]:
        return sorted(str(each.relative_to(self.path)) for each in self.path.glob("*/orders-*"))

    async def until(self, condition: Callable[[], bool]) -> None:
        running = asyncio.ensure_future(self.moves.run())
        try:
            async with asyncio.timeout(20):
                while not condition():
                    await asyncio.sleep(0.005)
                    if running.done():
                        running.result()
        finally:
            running.cancel()
            await asyncio.wait([running])

    def move(self, name: str = "b") -> None:
        self.moves.begin(self.replica, self.goal(name))
        asyncio.run(self.until(lambda: not list(self.moves)))


@pytest.fixture
def moving(new_broker: Any, tmp_path: Path, batch: Any) -> Any:
    made = Moving(new_broker, tmp_path, batch)
    yield made
    made.node.partitions.abandon()


def test_a_replica_moves_with_all_it_has(moving: Moving) -> None:
    moving.append("a", "b")
    moving.append("c", producer_id=7, producer_epoch=1, base_sequence=0)
    moving.replica.log.advance_start(1)
    standing = moving.replica.partition
    moving.move()
    assert moving.replica.directory.path.name == "b"
    assert moving.replica.partition is standing, "who waits for what is committed goes on waiting"
    assert moving.replica.log.log_start_offset == 1
    assert moving.replica.log.producer(7) is not None
    moving.append("d")
    assert moving.values() == ["b", "c", "d"]
    moving.replica.check()
    moving.replica.log.check()
    asyncio.run(moving.node.partitions.removals.remove_due())
    assert moving.directories() == ["b/orders-0"]
    moving.restart()
    assert moving.values() == ["b", "c", "d"]


def test_what_is_appended_meanwhile_moves_too(moving: Moving) -> None:
    moving.append("a" * 500_000, "b" * 500_000, "c" * 500_000)
    moving.moves.begin(moving.replica, moving.goal("b"))
    (move,) = moving.moves
    assert move.lag == 3

    def appending() -> bool:
        if len(moving.values()) < 8:
            moving.append("x")
        return not list(moving.moves)

    asyncio.run(moving.until(appending))
    assert moving.replica.directory.path.name == "b"
    assert [each[:1] for each in moving.values()][:3] == ["a", "b", "c"]
    assert moving.replica.log.log_end_offset == len(moving.values())


def test_what_is_appended_during_the_last_flush_moves_too(moving: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    moving.append("a")
    late = [["b" * 500_000] * 8, ["c"], []]  # much has to be copied before the last step, little goes with it
    honest = FutureLog.flush

    def flush(future: FutureLog) -> None:
        honest(future)
        if late:
            moving.append(*late.pop(0))

    monkeypatch.setattr(FutureLog, "flush", flush)
    moving.move()
    assert late == [[]]
    assert [value[0] for value in moving.values()] == ["a", *"b" * 8, "c"]
    assert moving.replica.directory.path.name == "b"
    moving.replica.check()


def test_a_log_that_is_cut_is_copied_anew(moving: Moving) -> None:
    moving.append("a", "b", "c")
    moving.moves.begin(moving.replica, moving.goal("b"))
    (move,) = moving.moves
    asyncio.run(moving.moves._restart(move))
    asyncio.run(moving.moves._copy_some(move))
    assert move.lag == 0
    moving.replica.log.truncate_to(1, now_ms=1)
    for value in ("d", "e"):
        data = bytearray(moving.batch(value))
        moving.replica.log.append(data, check(data), leader_epoch=4, now_ms=1)
    asyncio.run(moving.until(lambda: not list(moving.moves)))
    assert moving.replica.directory.path.name == "b"
    assert moving.values() == ["a", "d", "e"]


def test_a_move_that_is_taken_back_leaves_nothing(moving: Moving) -> None:
    moving.append("a")
    moving.moves.begin(moving.replica, moving.goal("b"))
    assert len(moving.directories()) == 2
    moving.moves.begin(moving.replica, moving.goal("a"))
    assert not list(moving.moves)
    asyncio.run(moving.until(lambda: len(moving.directories()) == 1))
    assert moving.values() == ["a"]


def test_a_move_ends_with_its_topic(moving: Moving) -> None:
    moving.append("a")
    moving.moves.begin(moving.replica, moving.goal("b"))
    moving.node.learn(r.TopicDeleted(moving.topic_id))
    assert not list(moving.moves)
    asyncio.run(moving.until(lambda: not list((moving.path / "b").glob("orders-*"))))


def test_a_move_goes_on_after_a_restart(moving: Moving) -> None:
    moving.append("a", "b")
    moving.moves.begin(moving.replica, moving.goal("b"))
    moving.restart()
    asyncio.run(moving.until(lambda: moving.replica.directory.path.name == "b"))
    assert moving.values() == ["a", "b"]


def test_a_compacted_log_moves_with_its_gaps(moving: Moving) -> None:
    moving.append("a", "b")
    log = moving.replica.log
    log.roll(1)
    log.allow_gaps(short_before=log.segments[-1].base_offset)
    log.begin_segment(9, 1)
    moving.replica.partition.on_appended(9, 0)
    moving.move()
    assert moving.replica.log.log_end_offset == 9
    assert moving.replica.log.has_gaps
    moving.append("c")
    moving.restart()
    assert (moving.values(), moving.replica.log.log_end_offset) == (["a", "b", "c"], 10)


def test_a_crash_at_any_point_leaves_one_log_with_everything(new_broker: Any, tmp_path: Path, batch: Any) -> None:
    """Which directory it is in then depends on how far the move had come."""
    found = set()
    total = 0
    step = 0
    while step <= total:
        disk = Counting()
        moving = Moving(new_broker, tmp_path / str(step), batch, disk)
        moving.append("a", "b", "c")
        moving.replica.log.advance_start(1)
        moving.node.partitions.checkpoint()
        begun = disk.calls
        disk.dies_at = begun + step if step else -1
        with suppress(Killed):
            moving.move()
        if step == 0:
            total = disk.calls - begun
        disk.dies_at = -1
        moving.restart()
        assert moving.values() == ["b", "c"], f"died before call {step} of {total}"
        assert moving.replica.partition.leads
        found.add(moving.replica.directory.path.name)
        moving.append("d")
        moving.restart()
        assert moving.values() == ["b", "c", "d"], f"died before call {step} of {total}"
        moving.node.partitions.abandon()
        step += 1
    assert found == {"a", "b"}
    assert total > 20
