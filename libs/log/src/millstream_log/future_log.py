"""A copy of a log in the making, in another data directory of the same node (KIP-113): `NAME.ID-future` until it takes over.

It is appended to as a follower's log is, so what it knows of producers, transactions and epochs comes from its batches. Nobody else
touches its files: each method but `take_over` may run in a thread, one at a time.
"""

from uuid import UUID

from millstream_log.checkpoint import TopicPartition
from millstream_log.config import LogConfig
from millstream_log.data_dir import FUTURE, DataDir, Taken
from millstream_log.disk import remove_tree
from millstream_log.log import Log
from millstream_log.partition_metadata import store_topic_id
from millstream_wire.records import check, split


class FutureLog:
    """Invariant: what it has is a prefix of the log that it copies, as long as that one is not cut."""

    def __init__(
        self, directory: DataDir, key: TopicPartition, topic_id: UUID, config: LogConfig, *, copy_id: UUID, now_ms: int
    ) -> None:
        """Make it, empty; whatever an earlier try has left is removed."""
        self.directory = directory
        self._key = key
        self._topic_id = topic_id
        for path in directory.futures(key):
            remove_tree(directory.disk, path)
        self.path = directory.path / f"{key}.{copy_id.hex}{FUTURE}"
        self._log = Log.open(self.path, config, now_ms=now_ms, disk=directory.disk)
        store_topic_id(self.path, topic_id, directory.disk)
        directory.disk.sync_directory(directory.path)

    @property
    def log_end_offset(self) -> int:
        return self._log.log_end_offset

    @property
    def size(self) -> int:
        return self._log.size

    def restart(self, start_offset: int, *, has_gaps: bool, now_ms: int) -> None:
        """Forget what was copied and begin at an offset."""
        self._log.truncate_fully(start_offset, now_ms=now_ms)
        if has_gaps:
            self._log.allow_gaps()

    def append(self, batches: bytes, *, now_ms: int) -> None:
        """Append whole batches that come next; each is checked, so that what a disk spoilt is not copied."""
        headers = [check(batch) for batch in split(batches)]
        if headers and not self._log.size and headers[0].base_offset < self._log.log_end_offset:
            # The log begins inside this batch, which is copied whole.
            self._log.truncate_fully(headers[0].base_offset, now_ms=now_ms)
        view = memoryview(batches)
        at = position = 0
        while at < len(headers):
            copied = self._log.append_all_as_follower(view[position:], headers[at:], now_ms=now_ms)
            at += copied.batches
            position += copied.size

    def skip_to(self, offset: int, *, now_ms: int) -> None:
        """The log has nothing more up to here: what there was, compaction has removed."""
        self._log.begin_segment(offset, now_ms)

    def flush(self) -> None:
        self._log.flush()

    def take_over(self, taken: Taken, config: LogConfig, *, now_ms: int) -> Log:
        """Be the partition's log in this directory from now on, complete and on the disk."""
        self._log.advance_start(taken.log_start_offset)
        self._log.close()
        return self.directory.take(self._key, self.path, taken, self._topic_id, config, now_ms=now_ms)

    def discard(self) -> None:
        """Let go of it and remove its files."""
        self._log.abandon()
        remove_tree(self.directory.disk, self.path)
