"""The topic that keeps the state of share partitions, from the coordinator's configuration."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShareStateLimits:
    topic_partitions: int = 50
    topic_replication_factor: int = 1
    topic_segment_bytes: int = 100 << 20
