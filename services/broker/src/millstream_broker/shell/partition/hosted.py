"""One partition on this broker: its log, its standing and its settings, side by side for the data path."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.partition.refusals import Refusals
from millstream_broker.core.partition.standing import NO_OFFSET, Partition
from millstream_broker.core.reads.bounds import Bound
from millstream_broker.core.reads.purgatory import Place
from millstream_broker.core.topic_settings import TopicSettings
from millstream_broker.shell.partition.isr_changes import IsrChanges
from millstream_cluster.ids import COORDINATOR_TOPICS
from millstream_log import KEEPS_ALL, DataDir, Log, Retention, TopicPartition
from millstream_wire.usual.produce_request import compact_name

# Final: compiled, any other name of a module or a class is searched for.
_HIGH_WATERMARK: Final = Bound.HIGH_WATERMARK
_LAST_STABLE_OFFSET: Final = Bound.LAST_STABLE_OFFSET


class HostedPartition:
    """Invariant (`check`): log start <= last stable offset <= high watermark <= log end."""

    __slots__ = (
        "_committed_place",
        "_log_end_place",
        "_stable_place",
        "directory",
        "flushed_ms",
        "index",
        "is_cut",
        "is_internal",
        "isr_changes",
        "key",
        "leader_high_watermark",
        "log",
        "markers",
        "name",
        "partition",
        "refusals",
        "settings",
        "starts_place",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        name: TopicPartition,
        topic_id: UUID,
        log: Log,
        settings: TopicSettings,
        *,
        directory: DataDir,
        node_id: int,
        high_watermark: int,
        ended: Sequence[tuple[int, int]] = (),
        isr_changes: IsrChanges,
    ) -> None:
        self.name = name
        self.topic = name.topic
        self.topic_id = topic_id
        self.index = name.partition
        self.is_internal = name.topic in COORDINATOR_TOPICS
        self.key: ReplicaKey = (topic_id, name.partition)
        self.log = log
        self.directory = directory
        """The data directory that the log is in."""
        self.settings = settings
        self.isr_changes = isr_changes
        self.leader_high_watermark = 0
        """Of a follower: what its leader last said. Less may be here, and so be committed here."""
        self.markers = 0
        """How many transactions were ended here since the log was opened."""
        self.flushed_ms = 0
        """When the log was last seen to be on the disk, by the monotonic clock."""
        self.is_cut = False
        """Its log is being truncated, in a thread: nothing else may change the log, and nobody may lead the partition."""
        self.refusals = Refusals()
        """Of appends, as leader and as follower."""
        unstable = log.first_unstable_offset
        self.partition = Partition(
            node_id,
            end_offset=log.log_end_offset,
            high_watermark=high_watermark,
            first_unstable=NO_OFFSET if unstable is None else unstable,
            ended=ended,
            min_insync_replicas=settings.min_insync_replicas,
        )
        self.partition.on_configured(settings.min_insync_replicas, settings.visible_after_flush)
        self._log_end_place = Place()
        self._committed_place = Place()
        self._stable_place = Place()
        self.starts_place = Place()
        """Where to wait for followers to begin their logs later."""

    @property
    def last_stable_offset(self) -> int:
        """Where readers of committed records stop; not before the log's start, which may be moved into an open transaction."""
        return max(self.partition.last_stable_offset, self.log.log_start_offset)

    @property
    def retention(self) -> Retention:
        """What its log may let go of."""
        return KEEPS_ALL if self.is_internal else self.settings.retention

    def topic_names(self) -> tuple[str | bytes, ...]:
        """What its topic is called: its name, and name and id as they are on the wire."""
        return self.topic, compact_name(self.topic), self.topic_id.bytes

    def end_for(self, bound: Bound) -> int:
        """Where the partition ends for who reads up to this bound."""
        if bound is _HIGH_WATERMARK:
            return self.partition.high_watermark
        return self.last_stable_offset if bound is _LAST_STABLE_OFFSET else self.partition.end_offset

    def place(self, bound: Bound) -> Place:
        """Where to wait for this bound to move."""
        if bound is _HIGH_WATERMARK:
            return self._committed_place
        return self._stable_place if bound is _LAST_STABLE_OFFSET else self._log_end_place

    def check(self) -> None:
        self.partition.check()
        assert self.log.log_start_offset <= self.last_stable_offset <= self.partition.high_watermark
        untold = self.log.log_end_offset - self.partition.end_offset
        assert untold == 0 or (untold > 0 and self.log.has_failed)

    def configure(self, settings: TopicSettings) -> None:
        self.settings = settings
        self.log.config = settings.log
