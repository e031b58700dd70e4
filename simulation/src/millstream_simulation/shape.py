"""What a seed decides before a run begins: how large the cluster is, what its clients do, how long the trouble lasts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from millstream.roles import Role


class Kind(StrEnum):
    """Of the clients."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    TRANSACTIONS = "transactions"
    """Each transactional id has its partitions."""
    GROUP_TRANSACTIONS = "group-transactions"
    """A consumer group shares out the partitions."""


SETTINGS = {
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
    "controller.takeover.timeout.ms": "2000",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "200",
    "group.consumer.session.timeout.ms": "4000",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.assignment.interval.ms": "200",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "log.segment.bytes": "1048576",
    "log.flush.offset.checkpoint.interval.ms": "300",
    "log.retention.check.interval.ms": "300",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    kinds: tuple[Kind, ...]
    counts: Mapping[Role, int] = field(
        default_factory=lambda: {Role.CONTROLLER: 2, Role.BROKER: 3, Role.COORDINATOR: 2}
    )
    partitions: int = 4
    producers: int = 2
    producer_pause_s: tuple[float, float] = (0.02, 0.5)
    """How long a producer waits between what it sends to a partition, at least and at most."""
    members: int = 3
    trouble_s: float = 60.0
    settings: Mapping[str, str] = field(default_factory=lambda: SETTINGS)
    topic_configs: Mapping[str, str] = field(default_factory=dict)
    """Of all topics that clients make."""
    troubles: tuple[str, ...] = ("kill", "stop", "cut", "isolate", "pause", "storm")
    """Kinds of it (troubles/)."""
    passing_topics: bool = True
    """Some come and go: each asks something of the active controller."""
    lasting_topics: bool = False
    """Some are made in the middle of trouble, and stay."""
    clock_skew_ms: int = 0
    """How far a host's wall clock may be off at the start."""
    clock_drift: float = 0.0
    """How much faster or slower a host's clock may be; its timers too."""
    fading_topics: bool = False
    """Some let go of their records by size and age."""
    exposed_topics: bool = False
    """The directories of some are taken away."""
    empty_disk: bool = False
    """In the end one broker comes back without all that it had."""
    log_dirs: int = 1
    """How many data directories each broker has."""
    cold_reads: float = 0.0
    """How often a read that may not wait for the disk would have to."""
    replicated: bool = False
    """Partitions have several replicas."""
    twists: tuple[str, ...] = ()
    """What sets it apart from the plain one (shapes/)."""


def classic(trouble_s: float) -> Shape:
    """Idempotent producers and a classic group, on a cluster of the usual size."""
    return Shape(kinds=(Kind.CLASSIC,), trouble_s=trouble_s)
