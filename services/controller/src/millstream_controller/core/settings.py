"""What the controller's decisions depend on beside the metadata itself."""

from collections.abc import Mapping
from dataclasses import field

from millstream_cluster.coordinator_topics import CoordinatorTopics
from millstream_controller.core.logins.token_settings import TokenSettings
from millstream_wire.late_dataclass import dataclass


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
    """How long the active controller is believed after the store last proved that nobody else had appended."""
    coordinator_forget_ms: int = 300_000
    """How long a fenced coordinator stays registered; coordinators own no data."""
    tokens: TokenSettings = field(default_factory=TokenSettings)
    """delegation.token.*"""
    static: Mapping[str, str] = field(default_factory=dict, repr=False)
    """This process's properties, as the source of STATIC_BROKER_CONFIG values in answers."""

    @property
    def first_session_timeout_ms(self) -> int:
        """Of a node that an active controller has not heard of yet.

        A deposed one may have kept it for as long as that one is believed. Then it is turned away, and with its next heartbeat it
        looks for another.
        """
        return max(self.session_timeout_ms, self.verify_timeout_ms + self.patience_ms)

    @property
    def patience_ms(self) -> int:
        """How much later than its time a heartbeat may come, or a look of this controller at who is silent."""
        return self.session_timeout_ms // 3
