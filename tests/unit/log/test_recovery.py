"""A log after a crash at any byte: what is left is a prefix, whole and usable, whatever happened to its side files."""

import errno
import os
import resource
import shutil
import tempfile
from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream_log import Log, LogConfig, StorageError
from millstream_log.disk import Disk
from millstream_wire.records import Record, decode_batches

CONFIG = LogConfig(segment_bytes=500, index_interval_bytes=60)
BATCHES = 40


@pytest.fixture(scope="module")
def crashed(tmp_path_factory, make) -> Path:
    """A log of one-record batches by two producers and three leaders, left without closing."""
    directory = tmp_path_factory.mktemp("crashed") / "topic-0"
    log = Log.open(directory, CONFIG, now_ms=0)
    for i in range(BATCHES):
        batch, header = make(timestamp=1000 + i, producer_id=1 + i % 2, producer_epoch=0, base_sequence=i // 2)
        log.append(batch, header, leader_epoch=i // 15, now_ms=0)
    assert len(log.segments) > 5
    log.abandon()
    return directory


def values(log: Log) -> list[Record]:
    found: list[Record] = []
    offset = log.log_start_offset
    while (read := log.read(offset, 1 << 20)) is not None:
        found += decode_batches(read.slice.read())
        offset = read.next_offset
    return found


def is_usable(log: Log, make) -> None:
    """Both producers go on with the sequence that follows what is left; repetitions of it are known."""
    log.check()
    end = log.log_end_offset
    found = values(log)
    assert [record.offset for record in found] == list(range(end))
    assert [record.timestamp for record in found] == [1000 + i for i in range(end)]
    assert log.epochs == tuple((epoch, 15 * epoch) for epoch in range(3) if 15 * epoch < end)
    for i in range(max(0, end - 2), end + 2):
        batch, header = make(timestamp=1000 + i, producer_id=1 + i % 2, producer_epoch=0, base_sequence=i // 2)
        result = log.append(batch, header, leader_epoch=3, now_ms=0)
        assert (result.base_offset, result.is_duplicate) == (i, i < end)
    for i in range(end):
        assert log.offset_for_timestamp(1000 + i).offset == i


side_files = (".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint")


@settings(max_examples=150)
@given(data=st.data())
def test_any_file_may_be_torn(crashed: Path, make, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "topic-0"
        shutil.copytree(crashed, directory)
        bases = [int(path.stem) for path in crashed.glob("*.log")]
        # What is below the recovery point has reached the disk, with the indexes of all segments but the last.
        lost_from = flushed_to = BATCHES
        for name in data.draw(
            st.lists(st.sampled_from(sorted(path.name for path in crashed.iterdir())), unique=True, max_size=4)
        ):
            path = directory / name
            content = path.read_bytes()
            cut = data.draw(st.integers(0, len(content)), label="cut")
            tail = data.draw(st.sampled_from([b"", bytes(100), b"garbage" * 20]), label="tail")
            path.write_bytes(content[:cut] + tail)
            if path.suffix == ".log":
                same = bytes(
                    a
                    for a, _ in takewhile(
                        lambda pair: pair[0] == pair[1], zip(content, content[:cut] + tail, strict=False)
                    )
                )
                intact = len(list(decode_batches(same)))
                if len(same) < len(content):
                    lost_from = min(lost_from, int(path.stem) + intact)
            if path.suffix in (".log", ".index", ".timeindex"):
                flushed_to = min(flushed_to, *(base - 1 for base in bases if base > int(path.stem)), BATCHES)
        recovery_point = data.draw(st.integers(0, min(lost_from, flushed_to)), label="recovery point")
        log = Log.open(directory, CONFIG, now_ms=0, recovery_point=recovery_point)
        assert log.log_end_offset == lost_from
        is_usable(log, make)


@settings(max_examples=60)
@given(data=st.data())
def test_side_files_may_be_missing_or_stale(crashed: Path, make, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "topic-0"
        shutil.copytree(crashed, directory)
        files = sorted(path for path in directory.iterdir() if path.name.endswith(side_files))
        for path in data.draw(st.lists(st.sampled_from(files), unique=True)):
            path.unlink()
        if data.draw(st.booleans(), label="snapshot past the end"):
            shutil.copy(max(crashed.glob("*.snapshot")), directory / f"{BATCHES + 5:020d}.snapshot")
        log = Log.open(directory, CONFIG, now_ms=0, clean=data.draw(st.booleans(), label="clean"))
        assert log.log_end_offset == BATCHES
        is_usable(log, make)


def test_only_what_may_not_have_reached_the_disk_is_checked(crashed: Path, tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    shutil.copytree(crashed, directory)
    bases = sorted(int(path.stem) for path in directory.glob("*.log"))
    damaged = directory / f"{bases[1]:020d}.log"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    shutil.copytree(directory, tmp_path / "again-0")
    assert Log.open(directory, CONFIG, now_ms=0, recovery_point=bases[2]).log_end_offset == BATCHES
    assert Log.open(tmp_path / "again-0", CONFIG, now_ms=0).log_end_offset == bases[2] - 1


@pytest.mark.parametrize("checkpointed", [0, 12, 20])
def test_epochs_begin_where_the_log_does_after_a_kill(crashed: Path, tmp_path: Path, checkpointed: int) -> None:
    """Its start had been moved and not yet checkpointed: what came back with the old start was of no epoch (seed 772)."""
    shutil.copytree(crashed, tmp_path, dirs_exist_ok=True)
    log = Log.open(tmp_path, CONFIG, now_ms=0)
    log.advance_start(20)
    log.abandon()
    log = Log.open(tmp_path, CONFIG, now_ms=0, log_start_offset=checkpointed)
    assert log.log_start_offset == checkpointed
    assert log.epochs == (((0, checkpointed), (1, 15), (2, 30)) if checkpointed < 15 else ((1, 20), (2, 30)))


def test_epochs_do_not_begin_before_the_log(crashed: Path, tmp_path: Path) -> None:
    """The checkpoint of its start was flushed, and the newer file of epochs lost with the power."""
    shutil.copytree(crashed, tmp_path, dirs_exist_ok=True)
    assert Log.open(tmp_path, CONFIG, now_ms=0, log_start_offset=20).epochs == ((1, 20), (2, 30))


def test_recovery_starts_at_the_recovery_point_within_a_segment(tmp_path: Path, make) -> None:
    log = Log.open(tmp_path, LogConfig(index_interval_bytes=100), now_ms=0)
    for i in range(200):
        log.append(*make(timestamp=1000 + i), leader_epoch=0, now_ms=0)
        if i == 100:
            log.flush()
    log.segments[-1].flush_indexes()
    log.abandon()
    path = tmp_path / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[70] ^= 1  # in the first batch, where nobody looks
    content[-1] ^= 1
    path.write_bytes(content)
    log = Log.open(tmp_path, LogConfig(index_interval_bytes=100), now_ms=0, recovery_point=log.recovery_point)
    assert log.log_end_offset == 199
    assert [log.offset_for_timestamp(1000 + i).offset for i in range(1, 199)] == list(range(1, 199))
    log.check()


def test_a_full_disk_can_be_recovered_and_read(crashed: Path, tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: no index entry can be written."""
    directory = tmp_path / "topic-0"
    shutil.copytree(crashed, directory)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        log = Log.open(directory, CONFIG, now_ms=0)
        assert [record.offset for record in values(log)] == list(range(BATCHES))
        assert log.offset_for_timestamp(1030).offset == 30
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    log.close()
    assert Log.open(directory, CONFIG, now_ms=0, clean=True).offset_for_timestamp(1030).offset == 30


class Full(Disk):
    """Has no room for a name or a byte while it is full, and lets files be shortened and removed."""

    is_full = True

    def open(self, path: Path, flags: int) -> int:
        if self.is_full and flags & os.O_CREAT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().open(path, flags)

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().pwrite(fd, data, position)


@pytest.mark.parametrize("recovery_point", [0, 33])
def test_a_broker_killed_on_a_full_disk_opens_its_logs(crashed: Path, tmp_path: Path, recovery_point: int) -> None:
    """Nothing is needed that has to be written (seed 953)."""
    directory, disk = tmp_path / "topic-0", Full()
    shutil.copytree(crashed, directory)
    log = Log.open(directory, CONFIG, now_ms=0, recovery_point=recovery_point, disk=disk)
    assert [record.offset for record in values(log)] == list(range(BATCHES))
    assert log.offset_for_timestamp(1030).offset == 30
    disk.is_full = False
    log.close()
    assert Log.open(directory, CONFIG, now_ms=0, clean=True).offset_for_timestamp(1030).offset == 30


def test_times_are_known_after_a_crash_and_then_a_clean_stop(tmp_path: Path, make) -> None:
    """The end of a segment is not in its time index until it is full or closed, and a crash closes nothing."""
    config = LogConfig(segment_bytes=500, index_interval_bytes=200)
    log = Log.open(tmp_path, config, now_ms=0)
    for i in range(BATCHES):
        batch, header = make(timestamp=1000 + i)
        log.append(batch, header, leader_epoch=0, now_ms=0)
    log.abandon()
    log = Log.open(tmp_path, config, now_ms=0)
    log.close()
    log = Log.open(tmp_path, config, now_ms=0, clean=True)
    assert [log.offset_for_timestamp(1000 + i).offset for i in range(BATCHES)] == list(range(BATCHES))
    assert [segment.max_timestamp for segment in log.segments] == [999 + segment.end_offset for segment in log.segments]


@pytest.mark.parametrize("stem", ["x" * 20, "9" * 20, str((1 << 63) - 1).zfill(20), "-" + "0" * 19, "٣" * 20])
@pytest.mark.parametrize("kind", [".log", ".log.swap", ".log.cleaned"])
def test_a_file_that_only_looks_like_a_segment_is_nobodys_records(
    crashed: Path, tmp_path: Path, stem: str, kind: str
) -> None:
    shutil.copytree(crashed, tmp_path / "topic-0")
    (tmp_path / "topic-0" / (stem + kind)).touch()
    with pytest.raises(StorageError, match="not the name of a segment"):
        Log.open(tmp_path / "topic-0", CONFIG, now_ms=0)


@pytest.mark.parametrize("offset", [1 << 40, (1 << 63) - 1])
def test_an_offset_that_no_segment_reaches_ends_the_log_before_it(crashed: Path, tmp_path: Path, offset: int) -> None:
    """The checksum does not cover a batch's base offset: it is believed only as far as a segment can go."""
    shutil.copytree(crashed, tmp_path / "topic-0")
    whole = Log.open(tmp_path / "topic-0", CONFIG, now_ms=0)
    end_offset, segment = whole.log_end_offset, whole.segments[-1]
    position = segment.position_of(end_offset - 1)
    whole.abandon()
    with open(segment.log_path, "r+b") as file:
        file.seek(position)
        file.write(offset.to_bytes(8, "big"))
    log = Log.open(tmp_path / "topic-0", CONFIG, now_ms=0)
    log.check()
    assert log.log_end_offset == end_offset - 1


def test_leftovers_of_interrupted_work_are_removed(crashed: Path, tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    shutil.copytree(crashed, directory)
    for name in (
        "00000000000000000000.log.cleaned",
        "00000000000000000000.log.deleted",
        "leader-epoch-checkpoint.tmp",
        "00000000000000000999.index",
    ):
        (directory / name).write_bytes(b"x")
    assert Log.open(directory, CONFIG, now_ms=0).log_end_offset == BATCHES
    assert not [path for path in directory.iterdir() if path.suffix in (".cleaned", ".deleted", ".tmp")]
    assert not (directory / "00000000000000000999.index").exists()
