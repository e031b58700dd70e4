"""The topics that coordinators keep their state in, as whoever needs one first has it created: broker, coordinator, controller.

How many partitions, replicas and bytes per segment each has is each process's configuration; the rest is the same for all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from millstream_cluster.ids import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC

NEEDED_CONFIGS: Mapping[str, str] = MappingProxyType({"cleanup.policy": "compact"})
"""Without these a coordinators' topic would lose what is in it, so also one that somebody creates by hand has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorTopic:
    partitions: int
    """Fixed when the topic is created: groups and transactional ids are spread over them by hash."""
    replication_factor: int
    segment_bytes: int
    """Small segments are compacted soon, and a coordinator reads the whole log before it serves."""

    @property
    def configs(self) -> dict[str, str]:
        """`compression.type` keeps the batches as their coordinator wrote them."""
        return {**NEEDED_CONFIGS, "compression.type": "producer", "segment.bytes": str(self.segment_bytes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorTopics:
    offsets: CoordinatorTopic
    transactions: CoordinatorTopic
    share_state: CoordinatorTopic

    def of(self, name: str) -> CoordinatorTopic | None:
        """What a topic of this name has to be like; None if it is not a coordinators' topic."""
        known = {
            OFFSETS_TOPIC: self.offsets,
            TRANSACTIONS_TOPIC: self.transactions,
            SHARE_STATE_TOPIC: self.share_state,
        }
        return known.get(name)
