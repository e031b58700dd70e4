"""What the controller's decisions depend on beside the metadata itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from millstream_cluster.coordinator_topics import CoordinatorTopics
from millstream_controller.core.logins.token_settings import TokenSettings


@dataclass(frozen=True, slots=True)
class Settings:
    num_partitions: int = 1
    """Partitions of a topic created without a count."""
    default_replication_factor: int = 1
    """Replicas of a topic created without a count."""
    coordinator_topics: CoordinatorTopics = field(default_factory=CoordinatorTopics)
    """What the coordinators' topics are created with where whoever asks leaves it open."""
    delete_topic_enable: bool = True
    """Whether DeleteTopics works at all."""
    session_timeout_ms: int = 3_000
    """How long a silent node counts as alive."""
    verify_timeout_ms: int = 4_000
    """How long the active controller is believed after the store last proved that nobody else had appended. Well below the
    session timeout: a node that is turned away finds another controller, or this one again, before its session ends."""
    coordinator_forget_ms: int = 300_000
    """How long a fenced coordinator stays registered; coordinators own no data."""
    tokens: TokenSettings = field(default_factory=TokenSettings)
    """delegation.token.*"""
    static: Mapping[str, str] = field(default_factory=dict, repr=False)
    """This process's properties, as the source of STATIC_BROKER_CONFIG values in answers."""
