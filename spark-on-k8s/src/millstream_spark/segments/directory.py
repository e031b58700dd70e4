"""Which closed segments of a topic a broker's data directory has, and how far they may be read.

What is read ends at the first of: the segment that is still written to, the high watermark, the first transaction without an end.
Closed does not mean committed: the end of the last closed segment may still be cut off by another leader.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from struct import error as StructError

import numpy as np
from crc32c import crc32c
from pyspark.sql.datasource import InputPartition

from millstream_spark.errors import SegmentDamaged, SegmentsUnavailable
from millstream_spark.segments.batches import read_batches

HIGH_WATERMARKS = "replication-offset-checkpoint"
TOPIC_ID = "partition.metadata"
LOG_STARTS = "log-start-offset-checkpoint"

ABORTED = Struct(">hqqqq")  # version, producer id, first and last offset, last stable offset
SNAPSHOT = Struct(">hIi")  # version, checksum of what follows it, count
SNAPSHOT_CHECKED_FROM = 6
# Producer id, epoch, sequence, offset, offset delta, timestamp, coordinator epoch, first offset of its open transaction.
PRODUCER = Struct(">qhiqiqiq")


@dataclass(frozen=True, slots=True)
class Aborted:
    producer_id: int
    first_offset: int
    last_offset: int


class Segment(InputPartition):
    """What one task reads: the offsets from `start` to before `end` of one file, fixed when the query is planned."""

    def __init__(
        self,
        path: str,
        topic: str,
        partition: int,
        base_offset: int,
        start: int,
        end: int,
        aborted: tuple[Aborted, ...],
    ) -> None:
        super().__init__(None)
        self.path = path
        self.topic = topic
        self.partition = partition
        self.base_offset = base_offset
        self.start = start
        self.end = end
        self.aborted = aborted


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a query asks for of each partition; what it does not name is wanted."""

    partitions: frozenset[int] | None = None
    starts: Mapping[int, int] | None = None
    ends: Mapping[int, int] | None = None
    """Offsets that somebody vouches for: without a high watermark on the disk these are what is read."""
    since_ms: int | None = None
    """No record that is older is wanted."""
    topic_id: str | None = None
    """Of the topic that is meant; under its name the files may be another's."""


def plan_segments(directories: Sequence[Path], topic: str, wanted: Wanted) -> list[Segment]:
    """Raises SegmentsUnavailable, SegmentDamaged."""
    replicas: dict[int, list[list[Segment]]] = {}
    for directory in directories:
        for partition, path in _partitions(directory, topic):
            if wanted.partitions is None or partition in wanted.partitions:
                replica = list(_of_partition(directory, topic, partition, path, wanted))
                replicas.setdefault(partition, []).append(replica)
    expected = set(range(max(replicas, default=0) + 1)) if wanted.partitions is None else wanted.partitions
    if missing := sorted(expected - replicas.keys()):
        raise SegmentsUnavailable(f"partitions {missing} of {topic} are not in {', '.join(map(str, directories))}")
    # Replicas of several brokers hold the same up to their high watermarks: the one that goes furthest has it all.
    furthest = (max(found, key=lambda replica: replica[-1].end if replica else -1) for found in replicas.values())
    return [segment for replica in furthest for segment in replica]


def _partitions(directory: Path, topic: str) -> Iterator[tuple[int, Path]]:
    for path in sorted(directory.glob(f"{topic}-*")):
        name, _, number = path.name.rpartition("-")
        if name == topic and number.isdecimal():
            yield int(number), path


def _of_partition(directory: Path, topic: str, partition: int, path: Path, wanted: Wanted) -> Iterator[Segment]:
    logs = sorted(path.glob("*.log"))
    if not logs:
        return
    if wanted.topic_id is not None and (kept := _topic_id(path)) != wanted.topic_id:
        raise SegmentsUnavailable(f"{path} is of the topic with id {kept}, not {wanted.topic_id}")
    bases = [int(log.stem) for log in logs]
    asked = (wanted.ends or {}).get(partition)
    watermark = _checkpoint(directory / HIGH_WATERMARKS, topic, partition)
    if watermark is None and asked is None:
        raise SegmentsUnavailable(
            f"{directory / HIGH_WATERMARKS} does not say what of {topic}-{partition} is committed: give endingOffsets"
        )
    known = [limit for limit in (bases[-1], watermark, asked) if limit is not None]
    end = _decided(path, logs, min(known))
    log_start = _checkpoint(directory / LOG_STARTS, topic, partition) or 0
    begin = max(log_start, bases[0])
    start = (wanted.starts or {}).get(partition, begin)
    if start < begin:
        raise SegmentsUnavailable(f"{topic}-{partition} begins at {begin}, and {start} was asked for")
    aborted = [entry for log in logs for entry in _aborted(log)]
    for log, base, following in zip(logs, bases, [*bases[1:], bases[-1]], strict=True):
        first, past = max(start, base), min(end, following)
        if first < past and not _is_older(log, wanted.since_ms):
            mine = tuple(entry for entry in aborted if entry.first_offset < past and entry.last_offset >= first)
            yield Segment(str(log), topic, partition, base, first, past, mine)


def _topic_id(path: Path) -> str | None:
    file = path / TOPIC_ID
    lines = file.read_text().splitlines() if file.exists() else []
    return next((line.removeprefix("topic_id:").strip() for line in lines if line.startswith("topic_id:")), None)


def _decided(path: Path, logs: Sequence[Path], end: int) -> int:
    """Return the offset before `end` at which the first transaction began that was not over by then, else `end`."""
    snapshots = [int(each.stem) for each in path.glob("*.snapshot")]
    known = max((offset for offset in snapshots if offset <= end), default=0)
    begun = _open_transactions(path / f"{known:020d}.snapshot") if known else {}
    for log, following in zip(logs, [*(int(log.stem) for log in logs[1:]), end], strict=True):
        if following > known and int(log.stem) < end:
            with log.open("rb") as file:
                for batch in read_batches(file, position_of(log, known), end):
                    if batch.first_offset < known:
                        continue
                    if batch.is_control:
                        begun.pop(batch.producer_id, None)
                    elif batch.is_transactional:
                        begun.setdefault(batch.producer_id, batch.first_offset)
    return min([end, *begun.values()])


def _open_transactions(path: Path) -> dict[int, int]:
    """Return the producers with a transaction that is not over, and where it began."""
    data = path.read_bytes()
    try:
        version, checksum, count = SNAPSHOT.unpack_from(data)
        if version != 1 or crc32c(data[SNAPSHOT_CHECKED_FROM:]) != checksum:
            raise SegmentDamaged(f"{path}: version {version}, or a wrong checksum")
        entries = [PRODUCER.unpack_from(data, SNAPSHOT.size + nth * PRODUCER.size) for nth in range(count)]
    except StructError as error:
        raise SegmentDamaged(f"{path}: {error}") from error
    return {entry[0]: entry[7] for entry in entries if entry[7] >= 0}


def _aborted(log: Path) -> list[Aborted]:
    path = log.with_suffix(".txnindex")
    if not path.exists():
        return []
    data = path.read_bytes()
    return [Aborted(*entry[1:4]) for entry in ABORTED.iter_unpack(data[: len(data) - len(data) % ABORTED.size])]


def position_of(log: Path, offset: int) -> int:
    """Return where a batch begins that is at or before an offset; the index may be missing, as Kafka would make it again."""
    path = log.with_suffix(".index")
    if not path.exists() or path.stat().st_size % 8:
        return 0
    index = np.fromfile(path, ">i4").reshape(-1, 2)
    below = int(np.searchsorted(index[:, 0], offset - int(log.stem), "right")) - 1
    # Room that was allocated ahead, and never taken back, is zeros.
    return max(int(index[below, 1]), 0) if below >= 0 and (index[1:, 0] > index[:-1, 0]).all() else 0


def _is_older(log: Path, since_ms: int | None) -> bool:
    """Return whether the time index says that every record is older."""
    path = log.with_suffix(".timeindex")
    if since_ms is None or not path.exists() or path.stat().st_size % 12 or not path.stat().st_size:
        return False
    timestamp, _ = Struct(">qi").unpack(path.read_bytes()[-12:])
    return bool(0 < timestamp < since_ms)


def _checkpoint(path: Path, topic: str, partition: int) -> int | None:
    """Return what a checkpoint of the directory says of a partition; None if nothing."""
    if not path.exists():
        return None
    for line in path.read_text().splitlines()[2:]:
        name, number, offset = line.split()
        if (name, int(number)) == (topic, partition):
            return int(offset)
    return None
