"""The metadata log in a directory that the controllers of one machine share: an ordinary Kafka log, and a lock.

No lock is held between appends. An append takes it, looks whether the log still ends where this writer left it, writes,
waits for the disk and lets go; a writer that was paused blocks nobody, and finds the log changed when it wakes.
"""

import asyncio
import fcntl
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from millstream_controller.shell.store import Fenced, Loaded, Snapshot, StoreBroken, StoreUnavailable
from millstream_log import Log, LogConfig, LogError, StorageError
from millstream_log.atomic_file import read_file, replace_file
from millstream_log.disk import DISK, Disk, make_directories
from millstream_runtime.world import World
from millstream_wire.records import RecordsError, check, parse_header, split

logger = logging.getLogger(__name__)

T = TypeVar("T")

LOG_DIRECTORY = "__cluster_metadata-0"
SNAPSHOT_AFTER_BYTES = 2 << 20
_CONFIG = LogConfig(segment_bytes=8 << 20, segment_ms=1 << 62)
_LOCK_POLL_S = 0.02
_LOCK_WAIT_S_MAX = 10.0
_RETRY_S = 0.5


class FileStore:
    """Invariant: while `_log` is not None and nobody else has appended, the directory is as `_log` knows it."""

    batch_bytes_max = 4 << 20

    def __init__(
        self, directory: Path, world: World, *, snapshot_after_bytes: int = SNAPSHOT_AFTER_BYTES, disk: Disk = DISK
    ) -> None:
        self._directory = directory
        self._world = world
        self._disk = disk
        self._snapshot_after_bytes = snapshot_after_bytes
        self._log: Log | None = None
        self._bytes_since_snapshot = 0
        self._snapshot_bytes = 0
        self._under_way: set[asyncio.Task[Any]] = set()

    async def load(self) -> Loaded:
        try:
            make_directories(self._disk, self._directory / LOG_DIRECTORY)
        except OSError as error:
            raise StoreBroken(f"{self._directory} cannot be used as the metadata store: {error.strerror}") from error
        return await self._locked(self._load)

    async def append(self, batch: bytes) -> None:
        """A full disk is waited out: the log is then as it was before, so the same append is tried again."""
        waiting = False
        while (refused := await self._locked(lambda: self._append(batch))) is not None:
            if not waiting:
                logger.error("metadata append waits error=%s", refused)
            waiting = True
            await asyncio.sleep(_RETRY_S)
        if waiting:
            logger.info("metadata append goes on")

    async def verify(self) -> None:
        await self._locked(self._unchanged_log)

    @property
    def wants_snapshot(self) -> bool:
        """After as many bytes as the last one had, if that is more: so that saving never is most of what is written."""
        return self._bytes_since_snapshot >= max(self._snapshot_after_bytes, self._snapshot_bytes)

    is_full = False
    saves_beside_appends = False

    @property
    def appended(self) -> int:
        return self._log.log_end_offset if self._log is not None else 0

    async def save_snapshot(self, snapshot: Snapshot, *, covers: int | None = None) -> None:
        await self._locked(lambda: self._save_snapshot(snapshot))

    async def tidy(self) -> None:
        await self._locked(self._remove_old_snapshots)

    async def close(self) -> None:
        """Work that nobody waits for any more still has the log's files: what it would write next must not be another's."""
        if self._under_way:
            await asyncio.wait(self._under_way)
        if self._log is not None:
            self._log.abandon()
            self._log = None

    def _load(self) -> Loaded:
        if self._log is not None:
            self._log.abandon()
            self._log = None
        directory = self._directory / LOG_DIRECTORY
        try:
            snapshot = _newest_snapshot(directory, self._disk)
            start = snapshot.end_offset if snapshot is not None else 0
            log = Log.open(directory, _CONFIG, now_ms=self._world.now_ms(), log_start_offset=start, disk=self._disk)
            log.flush()  # what a process that was killed had appended is taken for committed from here on
            batches = tuple(_batches(log, start))
        except (LogError, RecordsError, OSError) as error:
            raise StoreBroken(f"the metadata log in {directory} cannot be read: {error}") from error
        if log.log_end_offset < start:
            raise StoreBroken(f"the metadata log in {directory} ends at {log.log_end_offset}, before its snapshot")
        self._log = log
        self._bytes_since_snapshot = sum(len(batch) for batch in batches)
        self._snapshot_bytes = len(snapshot.data) if snapshot is not None else 0
        return Loaded(snapshot, batches)

    def _append(self, batch: bytes) -> StorageError | None:
        """Append if nobody else has; return why the file system refused, if it did and nothing was written."""
        log = self._unchanged_log()
        header = parse_header(batch)
        assert header.base_offset == log.log_end_offset, "a batch that does not follow the log"
        try:
            log.append_as_follower(batch, header, now_ms=self._world.now_ms())
        except StorageError as error:
            return error
        try:
            log.flush()
        except StorageError as error:  # the kernel may have forgotten what it could not write: never asked again
            raise StoreBroken(f"the disk of the metadata log failed: {error}") from error
        self._bytes_since_snapshot += len(batch)
        return None

    def _save_snapshot(self, snapshot: Snapshot) -> None:
        log = self._unchanged_log()
        directory = log.directory
        path = directory / _snapshot_name(snapshot.end_offset, snapshot.epoch)
        try:
            replace_file(path, snapshot.data, durable=True, disk=self._disk)
        except OSError as error:
            raise StoreUnavailable(f"the metadata snapshot {path} cannot be written: {error}") from error
        try:
            self._remove_old_snapshots()
            log.roll(self._world.now_ms())
            covered = sum(segment.end_offset <= snapshot.end_offset for segment in log.segments[:-1])
            for path in log.doom_segments(covered):
                self._disk.unlink(path)
            log.flush()
        except (OSError, LogError) as error:
            raise StoreBroken(f"the metadata log in {directory} cannot be trimmed: {error}") from error
        self._bytes_since_snapshot = 0
        self._snapshot_bytes = len(snapshot.data)

    def _remove_old_snapshots(self) -> None:
        """The newest one counts, by its name."""
        for path in _snapshot_paths(self._directory / LOG_DIRECTORY)[:-1]:
            self._disk.unlink(path)

    def _unchanged_log(self) -> Log:
        """The log, if the directory still ends as it does; what others write only ever adds to it."""
        if self._log is None:
            raise Fenced("the metadata log is not loaded")
        last = self._log.segments[-1]
        newest = max((name for name in os.listdir(self._log.directory) if name.endswith(".log")), default="")
        if newest != last.log_path.name or os.stat(last.log_path).st_size != last.size:
            self._log.abandon()
            self._log = None
            raise Fenced(f"another controller has appended to {self._directory}")
        return self._log

    async def _locked(self, work: Callable[[], T]) -> T:
        """Do blocking work under the lock. Shielded: whoever is cancelled must not let go of it while the work goes on."""
        held = [await self._lock()]

        def work_and_unlock() -> T:
            # Whoever takes it closes it: the work if it begins, else `done`.
            fd = held.pop()
            try:
                return work()
            finally:
                os.close(fd)

        def done(working: "asyncio.Task[T]") -> None:
            self._done(working)
            with suppress(IndexError):  # what is left also by a task that was cancelled before its first step
                os.close(held.pop())

        working = asyncio.get_running_loop().create_task(self._world.run_blocking(work_and_unlock))
        self._under_way.add(working)
        working.add_done_callback(done)
        return await asyncio.shield(working)

    def _done(self, working: "asyncio.Task[Any]") -> None:
        self._under_way.discard(working)
        if not working.cancelled() and (error := working.exception()) is not None:
            logger.debug("metadata store work ended error=%s", error)  # whoever waits for it is told

    async def _lock(self) -> int:
        try:
            fd = os.open(self._directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StoreBroken(f"{self._directory} cannot be used as the metadata store: {error.strerror}") from error
        try:
            waited_s = 0.0
            while not _try_lock(fd):
                if waited_s >= _LOCK_WAIT_S_MAX:
                    raise StoreUnavailable(f"another process holds the lock of {self._directory}")
                await asyncio.sleep(_LOCK_POLL_S)
                waited_s += _LOCK_POLL_S
        except BaseException:
            os.close(fd)
            raise
        return fd


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _batches(log: Log, start: int) -> list[bytes]:
    found: list[bytes] = []
    offset = start
    while (read := log.read(offset, 1 << 30)) is not None:
        for batch in split(read.slice.read()):
            header = check(batch)
            if header.base_offset >= start:
                found.append(bytes(batch))
        read.slice.release()
        offset = read.next_offset
    return found


def _snapshot_name(end_offset: int, epoch: int) -> str:
    return f"{end_offset:020d}-{epoch:010d}.checkpoint"


def _snapshot_paths(directory: Path) -> list[Path]:
    return sorted(directory.glob("*-*.checkpoint"))


def _newest_snapshot(directory: Path, disk: Disk) -> Snapshot | None:
    paths = _snapshot_paths(directory)
    if not paths:
        return None
    end_offset, _, epoch = paths[-1].stem.partition("-")
    return Snapshot(int(end_offset), int(epoch), read_file(paths[-1], disk))
