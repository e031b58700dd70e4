"""A truncation is one step, wherever the process or the power ends in it, and leaves alone what it does not cut."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from millstream_log import DataDir, Log, LogConfig, StorageError, TopicPartition
from millstream_log.cleaner import Cleanable, Cleaned, Cleaning, Compaction, replace_segments
from millstream_log.disk import Disk
from millstream_log.file_slice import SegmentFile
from millstream_wire.records import EndMarker, Record, check, decode_batches, encode_batch

KEY = TopicPartition("orders", 0)
CONFIG = LogConfig(segment_bytes=700, index_interval_bytes=150)
FLUSHED, CLEANED, HIGH_WATERMARK = 40, 30, 35


class Crash(BaseException):
    """The process ends."""


class Interrupted(Disk):
    """Lets so many changes happen, then the process ends; and knows what a power loss at that moment leaves.

    Of what was not brought to the disk nothing is left: neither content nor names.
    """

    def __init__(self, root: Path) -> None:
        self.changes_left = -1
        self.ends_in: BaseException = Crash()
        self._root = root
        self._note_everything()

    def _note_everything(self) -> None:
        self._held: list[SegmentFile] = []  # so that no inode is given away twice
        self._content: dict[int, bytes] = {}
        self._names: dict[Path, dict[str, int]] = {}
        for directory in (self._root, *(path for path in self._root.rglob("*") if path.is_dir())):
            self._note_names(directory)
            for path in directory.iterdir():
                if path.is_file():
                    self._held.append(SegmentFile(path, os.O_RDONLY))
                    self._content[path.stat().st_ino] = path.read_bytes()

    def _note_names(self, directory: Path) -> None:
        self._names[directory] = {path.name: path.stat().st_ino for path in directory.iterdir() if path.is_file()}

    def _change(self) -> None:
        if self.changes_left == 0:
            raise self.ends_in
        self.changes_left -= 1

    def lose_power(self) -> None:
        for directory, names in self._names.items():
            for path in directory.iterdir():
                if path.is_file() and path.name != ".lock":
                    path.unlink()
            for name, inode in names.items():
                if name != ".lock":
                    (directory / name).write_bytes(self._content.get(inode, b""))
        self._note_everything()

    def open(self, path: Path, flags: int) -> int:
        is_new = bool(flags & os.O_CREAT) and not path.exists()
        if is_new or flags & os.O_TRUNC:
            self._change()
        fd = super().open(path, flags)
        if is_new:
            self._held.append(SegmentFile(path, os.O_RDONLY))
        return fd

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        self._change()
        return super().pwrite(fd, data, position)

    def ftruncate(self, fd: int, size: int) -> None:
        self._change()
        super().ftruncate(fd, size)

    def fsync(self, fd: int) -> None:
        self._change()  # and nothing else: the real disk would only take its time
        self._content[os.fstat(fd).st_ino] = Path(os.readlink(f"/proc/self/fd/{fd}")).read_bytes()

    def fdatasync(self, fd: int) -> None:
        self.fsync(fd)

    def rename(self, source: Path, target: Path) -> None:
        self._change()
        super().rename(source, target)

    def unlink(self, path: Path) -> None:
        self._change()
        super().unlink(path)

    def sync_directory(self, directory: Path) -> None:
        self._change()
        self._note_names(directory)


# ---- a log with a history, and what is known of it ----

Operation = Callable[[Log, int], None]


def data(producer_id: int, sequence: int, *, transactional: bool = False) -> Operation:
    def append(log: Log, epoch: int) -> None:
        records = [Record(-1, 1000 + sequence, b"%d" % each, bytes(20)) for each in range(2)]
        batch = bytearray(
            encode_batch(
                records,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=sequence,
                transactional=transactional,
            )
        )
        log.append(batch, check(batch), leader_epoch=epoch, now_ms=0)

    return append


def abort(producer_id: int) -> Operation:
    def append(log: Log, epoch: int) -> None:
        record = EndMarker(committed=False, coordinator_epoch=0).encode(1000)
        batch = bytearray(
            encode_batch([record], producer_id=producer_id, producer_epoch=0, transactional=True, control=True)
        )
        log.append_control(batch, check(batch), leader_epoch=epoch, now_ms=0)

    return append


def operations() -> Iterator[Operation]:
    """Forty appends: two transactions are aborted, and each is open for a while."""
    for at in range(40):
        match at:
            case 5 | 17:
                yield data(2, 2 * at, transactional=True) if at == 5 else data(3, 0, transactional=True)
            case 9:
                yield abort(2)
            case 25:
                yield abort(3)
            case _:
                yield data(1, 2 * at - 2 * sum(each < at for each in (5, 9, 17, 25)))


def apply(log: Log, count: int) -> None:
    for at, operation in enumerate(operations()):
        if at < count:
            operation(log, at // 7)


def records_of(log: Log) -> list[Record]:
    found: list[Record] = []
    offset = log.log_start_offset
    while (read := log.read(offset, 1 << 20)) is not None:
        found += decode_batches(read.slice.read())
        offset = read.next_offset
    return found


def knowledge(log: Log) -> dict[str, object]:
    """Everything that a log says of itself."""
    return {
        "end": log.log_end_offset,
        "records": records_of(log),
        "epochs": log.epochs,
        "producers": {each.producer_id: (each.epoch, each.last_sequence, each.last_offset) for each in log.producers},
        "unstable": log.first_unstable_offset,
        "aborted": log.aborted_transactions(0, log.log_end_offset) if log.log_end_offset else [],
        "late": log.offset_of_max_timestamp(),
    }


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    """What a log knows after so many of the operations."""
    known = []
    for count in range(41):
        log = Log.open(tmp_path_factory.mktemp("reference"), CONFIG, now_ms=0)
        apply(log, count)
        known.append(knowledge(log))
        log.abandon()
    return known


def open_data(directory: Path, disk: Disk) -> tuple[DataDir, Log]:
    data_dir = DataDir(directory, node_id=1, cluster_id="c", disk=disk)
    return data_dir, data_dir.open_log(KEY, None, CONFIG, now_ms=0)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory whose log was flushed in part, checkpointed, and then appended to."""
    directory = tmp_path_factory.mktemp("template") / "data"
    data_dir, log = open_data(directory, Disk())
    apply(log, 25)
    log.flush()
    data_dir.note_cleaned(KEY, CLEANED)
    data_dir.checkpoint({KEY: HIGH_WATERMARK})
    assert log.recovery_point > FLUSHED
    for at, operation in enumerate(operations()):
        if at >= 25:
            operation(log, at // 7)
    data_dir.abandon()
    return directory


def truncate(data_dir: DataDir, log: Log, offset: int) -> None:
    truncation = data_dir.start_truncation(KEY, log.find_cut(offset, now_ms=0))
    truncation.perform()
    log.finish_truncation(truncation)


def started(template: Path, directory: Path) -> tuple[Interrupted, DataDir, Log]:
    """The template's copy, open, with what was appended and not flushed in memory only."""
    shutil.copytree(template, directory)
    flushed = Interrupted(directory)
    data_dir, log = open_data(directory, flushed)
    return flushed, data_dir, log


# ---- what is left after a crash ----


@pytest.mark.parametrize(
    ("count", "power"),
    [
        pytest.param(0, True, id="all goes, power is lost"),
        pytest.param(20, False, id="a cut inside a segment, the process is killed"),
        pytest.param(20, True, id="a cut inside a segment, power is lost"),
        pytest.param(21, True, id="a cut between two segments, power is lost"),
    ],
)
def test_a_crash_at_any_change_leaves_the_log_before_or_after(
    tmp_path: Path, template: Path, after: list[dict[str, object]], count: int, power: bool
) -> None:
    outcomes = set()
    for changes in range(100):
        directory = tmp_path / str(changes)
        disk, data_dir, log = started(template, directory)
        cut = log.find_cut(int(str(after[count]["end"])), now_ms=0)
        disk.changes_left = changes
        try:
            truncation = data_dir.start_truncation(KEY, cut)
            truncation.perform()
            crashed = False
            log.finish_truncation(truncation)
        except Crash:
            crashed = True
        data_dir.abandon()
        disk.changes_left = -1
        if power:
            disk.lose_power()
        data_dir, log = open_data(directory, disk)
        known = knowledge(log)
        log.check()
        if known == after[count]:
            outcomes.add("after")
            limits = [data_dir.first_dirty_offset(KEY), data_dir.high_watermark(KEY), log.recovery_point]
            assert all(limit is not None and limit <= log.log_end_offset for limit in limits)
        else:
            assert crashed, "it was done, and what was cut off is back"
            assert known in after[25:]  # nothing that was flushed is gone
            assert data_dir.first_dirty_offset(KEY) == CLEANED
            outcomes.add("before")
        assert_goes_on(data_dir, log, disk, known, power=power)
        if not crashed:
            break
    else:
        raise AssertionError("it never ends")
    assert outcomes == {"before", "after"}


def assert_goes_on(data_dir: DataDir, log: Log, disk: Interrupted, known: dict[str, object], *, power: bool) -> None:
    """What is appended to it now is there after another crash, behind what was there and nothing else."""
    records = [Record(-1, 5000, b"new", bytes(30)) for _ in range(5)]
    for record in records:
        batch = bytearray(encode_batch([record]))
        log.append(batch, check(batch), leader_epoch=9, now_ms=0)
    log.flush()
    data_dir.checkpoint()
    end = log.log_end_offset
    directory = data_dir.path
    data_dir.abandon()
    if power:
        disk.lose_power()
    again, log = open_data(directory, disk)
    assert log.log_end_offset == end
    assert [record.key for record in records_of(log)[-5:]] == [b"new"] * 5
    assert len(records_of(log)) == len(list(known["records"])) + 5  # type: ignore[call-overload]
    again.abandon()


@pytest.mark.parametrize("count", [0, 20, 21])
@pytest.mark.parametrize("is_given_up", [False, True], ids=["until there is some", "and given up"])
def test_without_room_at_any_change_it_is_attempted_again(
    tmp_path: Path, template: Path, after: list[dict[str, object]], count: int, is_given_up: bool
) -> None:
    attempted = 0
    for changes in range(100):
        directory = tmp_path / str(changes)
        disk, data_dir, log = started(template, directory)
        truncation = data_dir.start_truncation(KEY, log.find_cut(int(str(after[count]["end"])), now_ms=0))
        disk.changes_left, disk.ends_in = changes, OSError(errno.ENOSPC, "no space left on device")
        try:
            refused = truncation.attempt()
        except OSError:
            refused = None  # a flush failed: that is final, as it is for appends
            is_final = True
        else:
            is_final = is_given_up and refused is not None
        is_through = disk.changes_left > 0
        disk.changes_left = -1
        if refused is not None and not is_given_up:
            assert truncation.attempt() is None
            attempted += 1
        log.finish_truncation(truncation)
        if is_final:
            with pytest.raises(StorageError):
                append_one(log)
            data_dir.abandon()
            data_dir, log = open_data(directory, disk)
            assert knowledge(log) in [after[count], *after[25:]]
        else:
            log.check()
            assert knowledge(log) == after[count]
            assert_goes_on(data_dir, log, disk, after[count], power=True)
        if is_through:
            break
    else:
        raise AssertionError("it never ends")
    assert is_given_up or attempted > 5


def append_one(log: Log) -> None:
    batch = bytearray(encode_batch([Record(-1, 5000, b"new", bytes(30))]))
    log.append(batch, check(batch), leader_epoch=9, now_ms=0)


def test_a_crash_while_a_crash_is_repaired_is_repaired_too(
    tmp_path: Path, template: Path, after: list[dict[str, object]]
) -> None:
    count = 20
    for changes in range(100):
        directory = tmp_path / str(changes)
        disk, data_dir, log = started(template, directory)
        cut = log.find_cut(int(str(after[count]["end"])), now_ms=0)
        disk.changes_left = 6  # the mark is there and a little more
        with pytest.raises(Crash):
            data_dir.start_truncation(KEY, cut).perform()
        data_dir.abandon()
        disk.changes_left = -1
        data_dir = DataDir(directory, node_id=1, cluster_id="c", disk=disk)
        disk.changes_left = changes
        try:
            crashed = False
            log = data_dir.open_log(KEY, None, CONFIG, now_ms=0)
        except Crash:
            crashed = True
            data_dir.abandon()
            disk.changes_left = -1
            data_dir, log = open_data(directory, disk)
        disk.changes_left = -1
        assert knowledge(log) == after[count]
        data_dir.abandon()
        if not crashed:
            return
    raise AssertionError("it never ends")


# ---- what it leaves alone ----


def test_what_was_flushed_stays_flushed(tmp_path: Path, template: Path, after: list[dict[str, object]]) -> None:
    disk, data_dir, log = started(template, tmp_path / "data")
    log.flush()
    end = int(str(after[22]["end"]))
    truncate(data_dir, log, end)
    assert log.recovery_point == end
    data_dir.abandon()
    disk.lose_power()
    _, log = open_data(tmp_path / "data", disk)
    assert knowledge(log) == after[22]


def test_the_bytes_that_stay_are_not_copied(tmp_path: Path, template: Path, after: list[dict[str, object]]) -> None:
    _, data_dir, log = started(template, tmp_path / "data")
    end = int(str(after[22]["end"]))
    inodes = {each.base_offset: each.log_path.stat().st_ino for each in log.segments if each.base_offset < end}
    truncate(data_dir, log, end)
    assert {each.base_offset: each.log_path.stat().st_ino for each in log.segments[:-1]} == inodes
    assert (log.segments[-1].base_offset, log.segments[-1].size) == (end, 0)


def test_a_slice_that_a_send_holds_never_shows_other_bytes(
    tmp_path: Path, template: Path, after: list[dict[str, object]]
) -> None:
    _, data_dir, log = started(template, tmp_path / "data")
    slices = [read.slice for offset in range(log.log_end_offset) if (read := log.read(offset, 300)) is not None]
    offered = [each.read() for each in slices]
    truncate(data_dir, log, int(str(after[22]["end"])))
    for at in range(30):
        data(1, 36 + 2 * at)(log, 9)
    for held, bytes_offered in zip(slices, offered, strict=True):
        assert bytes_offered.startswith(held.read())


# ---- while it is under way ----


def test_until_the_disk_has_followed_the_log_is_only_read(
    tmp_path: Path, template: Path, after: list[dict[str, object]]
) -> None:
    _, data_dir, log = started(template, tmp_path / "data")
    truncation = data_dir.start_truncation(KEY, log.find_cut(int(str(after[22]["end"])), now_ms=0))
    assert [record.offset for record in records_of(log)] == [
        record.offset
        for record in after[22]["records"]  # type: ignore[attr-defined]
    ]
    for refused in (
        lambda: data(1, 36)(log, 3),
        log.flush,
        lambda: log.roll(0),
        lambda: log.doom_segments(1),
        lambda: log.advance_start(5),
    ):
        with pytest.raises(StorageError, match="a truncation is under way"):
            refused()
    truncation.perform()
    log.finish_truncation(truncation)
    data(1, 36)(log, 3)
    log.check()


def test_a_flush_that_began_before_moves_nothing(
    tmp_path: Path, template: Path, after: list[dict[str, object]]
) -> None:
    _, data_dir, log = started(template, tmp_path / "data")
    flush = log.start_flush()
    flush.perform()
    truncate(data_dir, log, int(str(after[22]["end"])))
    log.finish_flush(flush)
    assert log.recovery_point <= log.log_end_offset


def test_a_log_that_could_not_be_cut_takes_nothing_more(
    tmp_path: Path, template: Path, after: list[dict[str, object]]
) -> None:
    class Failing(Disk):
        fails = False

        def ftruncate(self, fd: int, size: int) -> None:
            if self.fails:
                raise OSError("input/output error")
            super().ftruncate(fd, size)

    disk = Failing()
    shutil.copytree(template, tmp_path / "data")
    data_dir, log = open_data(tmp_path / "data", disk)
    disk.fails = True
    truncation = data_dir.start_truncation(KEY, log.find_cut(int(str(after[22]["end"])), now_ms=0))
    with pytest.raises(OSError, match="input/output"):
        truncation.perform()
    with pytest.raises(StorageError, match="input/output"):
        data(1, 36)(log, 3)


# ---- cleanings ----


def test_a_cleaning_that_was_under_way_changes_nothing_in_a_truncated_log(tmp_path: Path, make: Callable) -> None:
    log = Log.open(tmp_path, LogConfig(segment_bytes=300), now_ms=0)
    for _ in range(10):
        log.append(*make(1, value=bytes(60)), leader_epoch=0, now_ms=0)
    first = log.segments[0]
    assert first.end_offset == 2
    cleanable = Cleanable(first_dirty_offset=0, end_offset=2, clean_bytes=0, dirty_bytes=first.size)
    cleaning = Cleaning(log, cleanable, Compaction(), keys_bytes_max=1 << 20, now_ms=0)
    cleaned = next(step for step in cleaning.steps() if isinstance(step, Cleaned))
    log.truncate_to(1, now_ms=0)  # inside the segment that was cleaned
    assert cleaning.is_void
    assert not replace_segments(log, cleaned)
    assert list(tmp_path.glob("*.cleaned")) == []
    assert [record.offset for record in records_of(log)] == [0]


def test_what_is_rewritten_behind_a_truncation_is_dirty_again(tmp_path: Path) -> None:
    data_dir, log = open_data(tmp_path, Disk())
    apply(log, 40)
    data_dir.note_cleaned(KEY, 30)
    truncate(data_dir, log, 10)
    for operation in list(operations())[5:]:  # from the cut on
        operation(log, 9)
    assert data_dir.first_dirty_offset(KEY) == 10
    data_dir.checkpoint()
    data_dir.abandon()
    data_dir, _ = open_data(tmp_path, Disk())
    assert data_dir.first_dirty_offset(KEY) == 10
