"""What the controller's decisions depend on beside the metadata itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Settings:
    num_partitions: int = 1
    """Partitions of a topic created without a count."""
    default_replication_factor: int = 1
    """Replicas of a topic created without a count."""
    offsets_topic_num_partitions: int = 50
    """Partitions of `__consumer_offsets`, fixed when it is created."""
    transactions_topic_num_partitions: int = 50
    """Partitions of `__transaction_state`, fixed when it is created."""
    share_state_topic_num_partitions: int = 50
    """Partitions of `__share_group_state`, fixed when it is created."""
    delete_topic_enable: bool = True
    """Whether DeleteTopics works at all."""
    session_timeout_ms: int = 9_000
    """How long a silent node counts as alive."""
    verify_timeout_ms: int = 4_000
    """How long the active controller is believed after the store last proved that nobody else had appended. Well below the
    session timeout: a node that is turned away finds another controller, or this one again, before its session ends."""
    coordinator_forget_ms: int = 300_000
    """How long a fenced coordinator stays registered; coordinators own no data."""
    static: Mapping[str, str] = field(default_factory=dict)
    """This process's properties, as the source of STATIC_BROKER_CONFIG values in answers."""
