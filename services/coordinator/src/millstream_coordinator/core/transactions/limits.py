"""What bounds transactions, from the coordinator's configuration."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TransactionLimits:
    timeout_max_ms: int = 900_000
    """The longest time that a producer may ask for its transactions."""
    timeout_check_interval_ms: int = 10_000
    """How often transactions that took too long are looked for."""
    topic_partitions: int = 50
    topic_replication_factor: int = 1
    topic_segment_bytes: int = 100 << 20
    producer_expiration_ms: int = 604_800_000
    """How long a group's shard remembers the epoch of a producer that is silent."""
