"""The topics that coordinators keep their state in, as whoever needs one first has it created: broker, coordinator, controller.

How many partitions, replicas and bytes per segment each has is each process's configuration; the rest is the same for all.
Whoever asks leaves what is not configured to the controller, which alone knows how many brokers there are
(docs/decisions/replication-factors.md).
"""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from millstream_cluster.configs.broker import BROKER_CONFIGS
from millstream_cluster.ids import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from millstream_wire.late_dataclass import dataclass

NEEDED_CONFIGS: Mapping[str, str] = MappingProxyType({"cleanup.policy": "compact"})
"""Without these a coordinators' topic would lose what is in it, so also one that somebody creates by hand has them."""
FACTORS = tuple(
    f"{prefix}.replication.factor"
    for prefix in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
)
"""The settings of how many replicas these topics have."""
MIN_ISR = "min.insync.replicas"
UNSET = -1
"""A number that nobody has configured; in CreateTopics, one that is left to the controller."""
REPLICAS_MAX = 3
"""As many replicas as there are brokers, up to this, where nobody has configured how many."""
LEAST_ISR = 2
"""One broker of several may go without anything being lost or forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorTopic:
    partitions: int = 50
    """Fixed when the topic is created: groups and transactional ids are spread over them by hash."""
    replication_factor: int = UNSET
    min_isr: int = UNSET
    segment_bytes: int = 100 << 20
    """Small segments are compacted soon, and a coordinator reads the whole log before it serves."""

    @property
    def configs(self) -> dict[str, str]:
        """`compression.type` keeps the batches as their coordinator wrote them."""
        own = {} if self.min_isr == UNSET else {MIN_ISR: str(self.min_isr)}
        return {**NEEDED_CONFIGS, "compression.type": "producer", "segment.bytes": str(self.segment_bytes), **own}

    def replicas_among(self, live: int) -> int:
        """How many replicas it is created with: as configured; else as many as there are live brokers, up to three."""
        return max(1, min(REPLICAS_MAX, live)) if self.replication_factor == UNSET else self.replication_factor

    def min_isr_of(self, replicas: int) -> int:
        """How many of its replicas have to have a record that its coordinator relies on."""
        return min(LEAST_ISR if self.min_isr == UNSET else self.min_isr, replicas)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorTopics:
    offsets: CoordinatorTopic = field(default_factory=CoordinatorTopic)
    transactions: CoordinatorTopic = field(default_factory=CoordinatorTopic)
    share_state: CoordinatorTopic = field(default_factory=CoordinatorTopic)

    @staticmethod
    def from_properties(values: Mapping[str, str]) -> "CoordinatorTopics":
        """As a process's properties have them; a ConfigError if they cannot be so."""
        return CoordinatorTopics(
            offsets=_topic(values, "offsets.topic", None),
            transactions=_topic(values, "transaction.state.log", "transaction.state.log.min.isr"),
            share_state=_topic(values, "share.coordinator.state.topic", "share.coordinator.state.topic.min.isr"),
        )

    def of(self, name: str) -> CoordinatorTopic | None:
        """What a topic of this name has to be like; None if it is not a coordinators' topic."""
        known = {
            OFFSETS_TOPIC: self.offsets,
            TRANSACTIONS_TOPIC: self.transactions,
            SHARE_STATE_TOPIC: self.share_state,
        }
        return known.get(name)


def _topic(values: Mapping[str, str], prefix: str, min_isr: str | None) -> CoordinatorTopic:
    return CoordinatorTopic(
        partitions=_number(values, f"{prefix}.num.partitions"),
        replication_factor=_if_set(values, f"{prefix}.replication.factor"),
        min_isr=UNSET if min_isr is None else _if_set(values, min_isr),
        segment_bytes=_number(values, f"{prefix}.segment.bytes"),
    )


def _if_set(values: Mapping[str, str], name: str) -> int:
    return _number(values, name) if name in values else UNSET


def _number(values: Mapping[str, str], name: str) -> int:
    key = BROKER_CONFIGS[name]
    value = key.parse(values.get(name, key.default))
    assert isinstance(value, int)
    return value
