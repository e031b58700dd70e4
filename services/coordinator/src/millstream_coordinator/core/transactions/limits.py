"""What bounds transactions, from the coordinator's configuration."""

from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TransactionLimits:
    timeout_max_ms: int = 900_000
    """The longest time that a producer may ask for its transactions."""
    add_partitions_retry_backoff_ms: int = 20
    """How long to wait before a group's offsets are added again to a transaction whose predecessor is still being ended."""
    add_partitions_retry_max_ms: int = 100
    """How long to go on trying that before the producer is told to."""
    timeout_check_interval_ms: int = 10_000
    """How often transactions that took too long are looked for."""
    id_expiration_ms: int | None = 604_800_000
    """How long a transactional id is remembered that nobody uses, and by a group's shard the epoch of a producer; None: for ever."""
    id_expiration_check_interval_ms: int = 3_600_000
    """How often ids that nobody uses are looked for."""
