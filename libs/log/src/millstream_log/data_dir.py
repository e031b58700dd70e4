"""One of a node's data directories: its identity, its lock, and the logs of the partitions in it.

Which partitions belong here is the caller's to know; what it does not know is set aside, never deleted.
"""

import json
import logging
import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import UUID, uuid4

from millstream_log.atomic_file import read_file, replace_file
from millstream_log.checkpoint import (
    CLEANED,
    HIGH_WATERMARK,
    LOG_START_OFFSET,
    RECOVERY_POINT,
    TopicPartition,
    load_offsets,
    store_offsets,
)
from millstream_log.config import LogConfig
from millstream_log.cutting import Cut, Truncation
from millstream_log.directory_lock import DirectoryLock
from millstream_log.disk import DISK, Disk, make_directories, remove_tree
from millstream_log.errors import CorruptFile, StorageError, UnusableDirectory
from millstream_log.log import Log
from millstream_log.partition_metadata import load_topic_id, store_topic_id
from millstream_log.properties_file import load_properties, store_properties
from millstream_log.truncation_mark import TruncationMark, load_mark
from millstream_log.uuids import format_uuid, parse_uuid
from millstream_wire.late_dataclass import dataclass

logger = logging.getLogger(__name__)

_CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
_META = "meta.properties"
_INCARNATION = "incarnation.id"
_LONGEST_NAME = 255
FUTURE = "-future"


@dataclass(frozen=True, slots=True)
class Taken:
    """What is known of a log that comes from another directory."""

    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    first_dirty_offset: int | None


class DataDir:
    """Open logs of one node. `directory_id` names this disk's content: an emptied disk gets another one.

    `incarnation_id` is what all directories of a node have in common, so that it outlives each of them; of a single one it is
    its own id.
    """

    __slots__ = (
        "_cleaned",
        "_high_watermarks",
        "_lock",
        "_log_starts",
        "_new_id",
        "_random",
        "_recovery_points",
        "_stored",
        "clean_broker_epoch",
        "cluster_id",
        "directory_id",
        "disk",
        "incarnation_id",
        "is_new",
        "logs",
        "node_id",
        "path",
        "was_clean",
    )

    def __init__(
        self,
        path: Path,
        *,
        node_id: int,
        cluster_id: str | None,
        new_id: Callable[[], UUID] = uuid4,
        disk: Disk = DISK,
        generator: random.Random | None = None,
    ) -> None:
        """Take the directory, made if there is none; refuse one that another process, node or cluster owns.

        With a cluster id of None the directory's own is taken, and a new directory has none until `set_cluster_id`.
        """
        self.path = path
        self.disk = disk
        self._random = generator
        self.node_id = node_id
        self.logs: dict[TopicPartition, Log] = {}
        self._new_id = new_id
        _make(path, disk)
        self._lock = DirectoryLock(path)
        try:
            meta = load_properties(path / _META, disk)
            self.is_new = meta is None
            """Whether nobody had used it before this process."""
            self.cluster_id, self.directory_id, self.incarnation_id = self._identify(meta, cluster_id)
            self.was_clean = (path / _CLEAN_SHUTDOWN).exists()
            self.clean_broker_epoch = _clean_broker_epoch(path / _CLEAN_SHUTDOWN, disk) if self.was_clean else -1
            """In which life of the node everything here was brought to the disk at its end; -1 if that is not known."""
            if self.was_clean:
                disk.unlink(path / _CLEAN_SHUTDOWN)
                disk.sync_directory(path)  # or it is back after a power loss, and nothing would be recovered
            self._stored: dict[str, dict[TopicPartition, int]] = {}  # what each checkpoint file holds
            self._recovery_points = self._load(RECOVERY_POINT)
            self._log_starts = self._load(LOG_START_OFFSET)
            self._high_watermarks = self._load(HIGH_WATERMARK)
            self._cleaned = self._load(CLEANED)
            self._finish_deletions()
        except BaseException:
            self._lock.release()
            raise

    # ---- identity ----

    def _identify(self, meta: Mapping[str, str] | None, cluster_id: str | None) -> tuple[str | None, UUID, UUID]:
        if meta is None:
            directory_id = self._new_id()
            if cluster_id is not None:  # else with it: nobody is told the id before that
                self._store_identity(cluster_id, directory_id, directory_id)
            return cluster_id, directory_id, directory_id
        owner, node = meta.get("cluster.id"), meta.get("node.id", str(self.node_id))
        if cluster_id is not None and owner is not None and owner != cluster_id:
            raise UnusableDirectory(f"{self.path} belongs to cluster {owner}, this node to cluster {cluster_id}")
        if node != str(self.node_id):
            raise UnusableDirectory(f"{self.path} belongs to node {node}, this is node {self.node_id}")
        try:
            directory_id = parse_uuid(meta["directory.id"]) if "directory.id" in meta else self._new_id()
            incarnation_id = parse_uuid(meta[_INCARNATION]) if _INCARNATION in meta else directory_id
        except ValueError as error:
            raise CorruptFile(f"{self.path / _META}: an id: {error}") from error
        known = owner if owner is not None else cluster_id
        if owner != known or "directory.id" not in meta:
            self._store_identity(known, directory_id, incarnation_id)
        return known, directory_id, incarnation_id

    def _store_identity(self, cluster_id: str | None, directory_id: UUID, incarnation_id: UUID) -> None:
        properties = {"version": "1", "node.id": str(self.node_id), "directory.id": format_uuid(directory_id)}
        if cluster_id is not None:
            properties["cluster.id"] = cluster_id
        if incarnation_id != directory_id:
            properties[_INCARNATION] = format_uuid(incarnation_id)
        store_properties(self.path / _META, properties, self.disk)

    def join(self, incarnation_id: UUID) -> None:
        """Be one of the directories of the node that is known by this id."""
        if incarnation_id == self.incarnation_id:
            return
        if self.cluster_id is not None:  # else with it
            self._store_identity(self.cluster_id, self.directory_id, incarnation_id)
        self.incarnation_id = incarnation_id

    def set_cluster_id(self, cluster_id: str) -> None:
        """Bind the directory to a cluster, once and for all."""
        if self.cluster_id is None:
            self._store_identity(cluster_id, self.directory_id, self.incarnation_id)
            self.cluster_id = cluster_id
        elif self.cluster_id != cluster_id:
            raise UnusableDirectory(
                f"{self.path} belongs to cluster {self.cluster_id}, this node to cluster {cluster_id}"
            )

    # ---- partitions ----

    def partitions(self) -> set[TopicPartition]:
        """Which partitions have a directory here."""
        names = (entry.name for entry in os.scandir(self.path) if entry.is_dir())
        return {key for key in map(_parse_name, names) if key is not None}

    def topic_id(self, key: TopicPartition) -> UUID | None:
        """The topic id that a partition's directory carries."""
        return load_topic_id(self.path / str(key), self.disk)

    def open_log(
        self, key: TopicPartition, topic_id: UUID | None, config: LogConfig, *, now_ms: int, is_whole: bool = False
    ) -> Log:
        """Open a partition's log, made if there is none; one of another topic of that name is set aside first.

        `is_whole`: it was closed in this process, and needs no recovery.
        """
        assert key not in self.logs, f"{key} is open"
        directory = self.path / str(key)
        if directory.is_dir() and topic_id is not None:
            found = load_topic_id(directory, self.disk)
            if found is not None and found != topic_id:
                self.set_aside(key)
        is_new = not directory.is_dir()
        if is_new:
            self.disk.mkdir(directory)
            self.disk.sync_directory(self.path)
            self._forget(key)
            if any(key in stored for stored in self._stored.values()):
                self.checkpoint()  # or, after a crash, the new log would begin where the old one did
        self._lower(key, load_mark(directory, self.disk))
        log = Log.open(
            directory,
            config,
            now_ms=now_ms,
            log_start_offset=self._log_starts.get(key, 0),
            recovery_point=self._recovery_points.get(key, 0),
            clean=self.was_clean or is_new or is_whole,
            may_have_gaps=key in self._cleaned,
            disk=self.disk,
            generator=self._random,
        )
        if topic_id is not None and load_topic_id(directory, self.disk) is None:
            store_topic_id(directory, topic_id, self.disk)
        self.logs[key] = log
        return log

    # ---- logs on their way from another directory ----

    def futures(self, key: TopicPartition | None = None) -> list[Path]:
        """Copies in the making that are here, of this partition or of any, under the names that Kafka gives them."""
        names = (entry.name for entry in os.scandir(self.path) if entry.is_dir() and entry.name.endswith(FUTURE))
        known = [(name, _parse_name(name.rpartition(".")[0])) for name in names]
        return [self.path / name for name, found in known if found is not None and key in (None, found)]

    def future_keys(self) -> set[TopicPartition]:
        """Of which partitions there are such copies."""
        return {key for path in self.futures() if (key := _parse_name(path.name.rpartition(".")[0])) is not None}

    def take(
        self, key: TopicPartition, path: Path, taken: "Taken", topic_id: UUID, config: LogConfig, *, now_ms: int
    ) -> Log:
        """Let a copy be the partition's log here. What the checkpoints say of it is on the disk before it has the name."""
        if (self.path / str(key)).is_dir():
            self.set_aside(key)
        self._forget(key)
        self._recovery_points[key] = taken.log_end_offset
        self._log_starts[key] = taken.log_start_offset
        self._high_watermarks[key] = taken.high_watermark
        if taken.first_dirty_offset is not None:
            self._cleaned[key] = taken.first_dirty_offset
        self.checkpoint()
        self.disk.rename(path, self.path / str(key))
        self.disk.sync_directory(self.path)
        return self.open_log(key, topic_id, config, now_ms=now_ms, is_whole=True)

    def high_watermark(self, key: TopicPartition) -> int:
        """The high watermark of the last checkpoint; at least the log's start."""
        log = self.logs[key]
        return min(max(self._high_watermarks.get(key, 0), log.log_start_offset), log.log_end_offset)

    def start_truncation(self, key: TopicPartition, cut: Cut) -> Truncation:
        """Cut a log, and what the checkpoints will say of it, in memory; see `Log.start_truncation` for the rest."""
        truncation = self.logs[key].start_truncation(cut)
        self._lower(key, truncation.mark)
        return truncation

    def _lower(self, key: TopicPartition, mark: TruncationMark | None) -> None:
        """Take back what is known of records that have been cut off."""
        if mark is None:
            return
        for offsets in (self._recovery_points, self._high_watermarks, self._cleaned):
            if key in offsets:
                offsets[key] = min(offsets[key], mark.checkpoint_offset_max)
        if key in self._log_starts:
            self._log_starts[key] = min(self._log_starts[key], mark.start_offset)

    def first_dirty_offset(self, key: TopicPartition) -> int | None:
        """Up to where the partition has been compacted; None if it never was."""
        return self._cleaned.get(key)

    def note_cleaned(self, key: TopicPartition, offset: int) -> None:
        """Note on the disk up to where it is now; to be done before a log gets its first gap, too."""
        self._cleaned[key] = offset
        self._store(CLEANED, self._cleaned)

    def doom_log(self, key: TopicPartition) -> Path:
        """Take a partition out of the way; the directory is for the caller to remove, or for the next start."""
        return self._rename(key, "delete")

    def set_aside(self, key: TopicPartition) -> Path:
        """Keep a partition's files under another name, for a person to look at."""
        target = self._rename(key, "stray")
        logger.warning("partition set aside partition=%s as=%s", key, target)
        return target

    def _rename(self, key: TopicPartition, suffix: str) -> Path:
        log = self.logs.pop(key, None)
        if log is not None:
            log.abandon()
        self._forget(key)
        suffix = f".{self._new_id().hex}-{suffix}"
        topic = key.topic[: _LONGEST_NAME - len(suffix) - len(str(key.partition)) - 1]
        target = self.path / f"{topic}-{key.partition}{suffix}"
        self.disk.rename(self.path / str(key), target)
        self.disk.sync_directory(self.path)
        return target

    def _forget(self, key: TopicPartition) -> None:
        for offsets in (self._recovery_points, self._log_starts, self._high_watermarks, self._cleaned):
            offsets.pop(key, None)

    def _finish_deletions(self) -> None:
        for entry in os.scandir(self.path):
            if entry.is_dir() and entry.name.endswith("-delete"):
                remove_tree(self.disk, Path(entry.path))

    # ---- checkpoints and closing ----

    def checkpoint(self, high_watermarks: dict[TopicPartition, int] | None = None) -> None:
        """Write down how far the logs are flushed, where they start and, if given, their high watermarks."""
        for key, log in self.logs.items():
            self._recovery_points[key] = log.recovery_point
            self._log_starts[key] = log.log_start_offset
        self._high_watermarks.update(high_watermarks or {})
        self._store(RECOVERY_POINT, self._recovery_points)
        self._store(LOG_START_OFFSET, {key: offset for key, offset in self._log_starts.items() if offset > 0})
        self._store(HIGH_WATERMARK, self._high_watermarks)
        self._store(CLEANED, self._cleaned)
        for log in self.logs.values():
            log.forget_truncation()

    def close(self, high_watermarks: dict[TopicPartition, int] | None = None, *, broker_epoch: int = -1) -> None:
        """Flush and close every log; only if all of it worked does the next start skip recovery."""
        try:
            failed = [key for key in self.logs if not self._close_log(key)]
            self.checkpoint(high_watermarks)
            # A partition that nobody opened is as the process before this one left it.
            if not failed and (self.was_clean or self.partitions() <= self.logs.keys()):
                proof = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
                replace_file(self.path / _CLEAN_SHUTDOWN, proof.encode(), durable=True, disk=self.disk)
        finally:
            self.abandon()

    def _close_log(self, key: TopicPartition) -> bool:
        try:
            self.logs[key].close()
        except (OSError, StorageError) as error:
            logger.error("log not closed cleanly partition=%s error=%s", key, error)
            return False
        return True

    def abandon(self) -> None:
        """Let go of everything and leave the files as a crash would."""
        for log in self.logs.values():
            log.abandon()
        self.logs = {}
        self._lock.release()

    def _load(self, name: str) -> dict[TopicPartition, int]:
        try:
            offsets = load_offsets(self.path / name, self.disk)
        except CorruptFile as error:
            # Without them recovery starts earlier; a log's start is at least its first segment's.
            logger.warning("checkpoint ignored error=%s", error)
            return {}
        self._stored[name] = dict(offsets)
        return offsets

    def _store(self, name: str, offsets: dict[TopicPartition, int]) -> None:
        if self._stored.get(name) != offsets:
            store_offsets(self.path / name, offsets, self.disk)
            self._stored[name] = dict(offsets)


def _clean_broker_epoch(path: Path, disk: Disk) -> int:
    """What the proof of a clean stop says; nothing, if it is not one of ours or of Kafka's."""
    try:
        epoch = json.loads(read_file(path, disk)).get("brokerEpoch", -1)
    except (ValueError, AttributeError) as error:
        logger.warning("clean stop without an epoch path=%s reason=%s", path, error)
        return -1
    return epoch if isinstance(epoch, int) else -1


def _make(path: Path, disk: Disk) -> None:
    try:
        make_directories(disk, path)
    except OSError as error:
        raise UnusableDirectory(f"{path} cannot be made: {error}") from error


def _parse_name(name: str) -> TopicPartition | None:
    topic, separator, partition = name.rpartition("-")
    if not separator or not topic or not partition.isdecimal() or topic == "__cluster_metadata":
        return None
    return TopicPartition(topic, int(partition))
