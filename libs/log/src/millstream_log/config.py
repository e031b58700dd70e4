"""What a log needs to know of its topic's configuration."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from mypy_extensions import i64

MIB = 1024 * 1024


class MessageTimestampType(Enum):
    CREATE_TIME = "CreateTime"
    LOG_APPEND_TIME = "LogAppendTime"


_LOG_APPEND_TIME: Final = MessageTimestampType.LOG_APPEND_TIME


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Each field is Kafka's topic config of that name; a log may be given another one at any time."""

    segment_bytes: i64 = 1024 * MIB
    """A segment that would outgrow this is rolled first."""
    segment_ms: i64 = 7 * 24 * 3600 * 1000
    """A segment whose first record is older than this, by the newest record's clock, is rolled."""
    segment_jitter_ms: i64 = 0
    """At most by so much `segment_ms` is shortened, for each segment at random, so that logs do not all roll at once."""
    preallocate: bool = False
    """Whether the file of a new segment gets room for `segment_bytes` at once."""
    segment_index_bytes: i64 = 10 * MIB
    """The size at which an index is full and its segment rolls."""
    index_interval_bytes: i64 = 4096
    """How many bytes of log go between two entries of the indexes."""
    message_timestamp_type: MessageTimestampType = MessageTimestampType.CREATE_TIME
    """Whether records keep their producer's time or get the time of their append."""
    flush_messages: i64 = (1 << 63) - 1
    """Flush to disk after this many records."""

    @property
    def takes_append_time(self) -> bool:
        return self.message_timestamp_type is _LOG_APPEND_TIME
