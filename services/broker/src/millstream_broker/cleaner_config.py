"""How the broker compacts its logs: Kafka's log.cleaner properties, read and checked."""

import sys

from millstream_runtime.properties import Properties, PropertyError
from millstream_wire.late_dataclass import dataclass

_NO_LIMIT = sys.float_info.max


@dataclass(frozen=True, slots=True)
class CleanerConfig:
    enabled: bool = True
    """log.cleaner.enable"""
    backoff_ms: int = 15_000
    """log.cleaner.backoff.ms: how long to sleep when no log is worth cleaning."""
    keys_bytes_max: int = 128 << 20
    """log.cleaner.dedupe.buffer.size: what the keys of one cleaning may take; taken only while it runs."""
    io_max_bytes_per_second: float = _NO_LIMIT
    """log.cleaner.io.max.bytes.per.second: bytes read and written."""

    @staticmethod
    def from_properties(properties: Properties) -> "CleanerConfig":
        rate = properties.text("log.cleaner.io.max.bytes.per.second", str(_NO_LIMIT))
        try:
            bytes_per_second = float(rate)
        except ValueError:
            raise PropertyError(f"log.cleaner.io.max.bytes.per.second must be a number, not {rate!r}") from None
        if not bytes_per_second > 0:
            raise PropertyError(f"log.cleaner.io.max.bytes.per.second must be more than 0, not {rate}")
        return CleanerConfig(
            enabled=properties.boolean("log.cleaner.enable", True),
            backoff_ms=properties.integer("log.cleaner.backoff.ms", 15_000, least=1),
            keys_bytes_max=properties.integer("log.cleaner.dedupe.buffer.size", 128 << 20, least=1 << 20),
            io_max_bytes_per_second=bytes_per_second,
        )
