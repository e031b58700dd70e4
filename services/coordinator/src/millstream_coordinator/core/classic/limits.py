"""The bounds within which groups live, from the coordinator's configuration."""

from dataclasses import dataclass, field

from millstream_coordinator.core.consumer.limits import ConsumerLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimits:
    initial_rebalance_delay_ms: int = 3_000
    """How long the first rebalance of an empty group waits for more members."""
    session_timeout_min_ms: int = 6_000
    session_timeout_max_ms: int = 1_800_000
    size_max: int = 2**31 - 1
    """Members per group."""
    new_member_join_timeout_ms: int = 300_000
    """A member that never got its id cannot heartbeat; after this long without a rebalance it is taken for gone."""
    consumer: ConsumerLimits = field(default_factory=ConsumerLimits)
    """Of groups that speak the other protocol."""
