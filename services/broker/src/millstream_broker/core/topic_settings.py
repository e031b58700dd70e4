"""A topic's configuration as the data path reads it: parsed once per change, plain fields from then on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mypy_extensions import i64

from millstream_broker.core.replication.throttle import FOLLOWER_REPLICAS, LEADER_REPLICAS, ThrottledReplicas
from millstream_log.cleaner import Compaction
from millstream_log.config import LogConfig, MessageTimestampType
from millstream_log.retention import Retention

NO_LIMIT_MS: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class TopicSettings:
    max_message_bytes: i64 = 1_048_588
    compacts: bool = False
    """cleanup.policy has compact: every record needs a key."""
    deletes: bool = True
    """cleanup.policy has delete: segments go by time and size."""
    min_insync_replicas: int = 1
    visible_after_flush: bool = False
    """millstream.visible.after.flush: what is committed has been flushed by all in sync."""
    log_append_time: bool = False
    """message.timestamp.type is LogAppendTime."""
    timestamp_before_max_ms: i64 = NO_LIMIT_MS
    timestamp_after_max_ms: i64 = 3_600_000
    flush_ms: int = NO_LIMIT_MS
    """flush.ms: how long appended records may stay off the disk."""
    file_delete_delay_ms: int = 60_000
    """file.delete.delay.ms: how long deleted files stay, out of the way."""
    follower_throttled: ThrottledReplicas = field(default_factory=ThrottledReplicas)
    """follower.replication.throttled.replicas"""
    leader_throttled: ThrottledReplicas = field(default_factory=ThrottledReplicas)
    """leader.replication.throttled.replicas"""
    retention: Retention = field(default_factory=Retention)
    compaction: Compaction = field(default_factory=Compaction)
    log: LogConfig = field(default_factory=LogConfig)

    @staticmethod
    def of(values: Mapping[str, Any]) -> "TopicSettings":
        """Take every topic key's effective value."""
        policy = values["cleanup.policy"]
        timestamp_type = MessageTimestampType(values["message.timestamp.type"])
        return TopicSettings(
            max_message_bytes=values["max.message.bytes"],
            compacts="compact" in policy,
            deletes="delete" in policy,
            min_insync_replicas=values["min.insync.replicas"],
            visible_after_flush=values["millstream.visible.after.flush"],
            log_append_time=timestamp_type is MessageTimestampType.LOG_APPEND_TIME,
            timestamp_before_max_ms=values["message.timestamp.before.max.ms"],
            timestamp_after_max_ms=values["message.timestamp.after.max.ms"],
            flush_ms=values["flush.ms"],
            file_delete_delay_ms=values["file.delete.delay.ms"],
            follower_throttled=ThrottledReplicas.of(values[FOLLOWER_REPLICAS]),
            leader_throttled=ThrottledReplicas.of(values[LEADER_REPLICAS]),
            retention=Retention(values["retention.ms"], values["retention.bytes"], deletes="delete" in policy),
            compaction=Compaction(
                min_cleanable_ratio=values["min.cleanable.dirty.ratio"],
                min_lag_ms=values["min.compaction.lag.ms"],
                max_lag_ms=values["max.compaction.lag.ms"],
                delete_retention_ms=values["delete.retention.ms"],
            ),
            log=LogConfig(
                segment_bytes=values["segment.bytes"],
                segment_ms=_segment_ms(values),
                segment_jitter_ms=values["segment.jitter.ms"],
                preallocate=values["preallocate"],
                segment_index_bytes=values["segment.index.bytes"],
                index_interval_bytes=values["index.interval.bytes"],
                message_timestamp_type=timestamp_type,
                flush_messages=values["flush.messages"],
            ),
        )


def _segment_ms(values: Mapping[str, Any]) -> int:
    """A segment that takes appends cannot be compacted: it ends in time for max.compaction.lag.ms."""
    segment_ms: int = values["segment.ms"]
    return min(segment_ms, values["max.compaction.lag.ms"]) if "compact" in values["cleanup.policy"] else segment_ms
