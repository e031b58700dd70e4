"""A topic's configuration as the data path reads it: parsed once per change, plain fields from then on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream_log.config import LogConfig, MessageTimestampType
from millstream_log.retention import Retention

NO_LIMIT_MS = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class TopicSettings:
    max_message_bytes: int = 1_048_588
    compacts: bool = False
    """cleanup.policy has compact: every record needs a key."""
    deletes: bool = True
    """cleanup.policy has delete: segments go by time and size."""
    min_insync_replicas: int = 1
    log_append_time: bool = False
    """message.timestamp.type is LogAppendTime."""
    timestamp_before_max_ms: int = NO_LIMIT_MS
    timestamp_after_max_ms: int = 3_600_000
    flush_ms: int = NO_LIMIT_MS
    """flush.ms: how long appended records may stay off the disk."""
    retention: Retention = field(default_factory=Retention)
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
            log_append_time=timestamp_type is MessageTimestampType.LOG_APPEND_TIME,
            timestamp_before_max_ms=values["message.timestamp.before.max.ms"],
            timestamp_after_max_ms=values["message.timestamp.after.max.ms"],
            flush_ms=values["flush.ms"],
            retention=Retention(values["retention.ms"], values["retention.bytes"]),
            log=LogConfig(
                segment_bytes=values["segment.bytes"],
                segment_ms=values["segment.ms"],
                segment_index_bytes=values["segment.index.bytes"],
                index_interval_bytes=values["index.interval.bytes"],
                message_timestamp_type=timestamp_type,
                flush_messages=values["flush.messages"],
            ),
        )
