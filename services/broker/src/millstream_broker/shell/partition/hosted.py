"""One partition on this broker: its log, its standing and its settings, side by side for the data path."""

from uuid import UUID

from millstream_broker.core.hosting import ReplicaKey
from millstream_broker.core.partition.standing import Partition
from millstream_broker.core.topic_settings import TopicSettings
from millstream_cluster.ids import COORDINATOR_TOPICS
from millstream_log import Log, TopicPartition


class HostedPartition:
    __slots__ = (
        "flushed_ms",
        "index",
        "is_internal",
        "key",
        "log",
        "markers",
        "name",
        "partition",
        "settings",
        "topic",
        "topic_id",
    )

    def __init__(
        self, name: TopicPartition, topic_id: UUID, log: Log, settings: TopicSettings, *, node_id: int
    ) -> None:
        self.name = name
        self.topic = name.topic
        self.topic_id = topic_id
        self.index = name.partition
        self.is_internal = name.topic in COORDINATOR_TOPICS
        self.key: ReplicaKey = (topic_id, name.partition)
        self.log = log
        self.settings = settings
        self.markers = 0
        """How many transactions were ended here since the log was opened."""
        self.flushed_ms = 0
        """When the log was last seen to be on the disk, by the monotonic clock."""
        self.partition = Partition(node_id, end_offset=log.log_end_offset)

    @property
    def last_stable_offset(self) -> int:
        """Where readers of committed records stop: before the oldest transaction under way."""
        unstable, high_watermark = self.log.first_unstable_offset, self.partition.high_watermark
        return high_watermark if unstable is None else min(unstable, high_watermark)

    def configure(self, settings: TopicSettings) -> None:
        self.settings = settings
        self.log.config = settings.log
