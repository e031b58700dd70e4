"""What plans for existing partitions are made of."""

from collections.abc import Hashable

from millstream_cluster.ids import NodeId
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Carried:
    """A partition that brokers carry already. While it is on the move, `replicas` are those that it will have."""

    key: Hashable
    """What the plan names it by; nothing else is read from it."""
    topic: Hashable
    replicas: tuple[NodeId, ...]
    size: int = 0
    """Bytes of one replica, where they are known."""
    leaving: frozenset[NodeId] = frozenset()
    """Brokers that are to keep this partition no more, and may keep others."""


@dataclass(frozen=True, slots=True)
class Move:
    """One partition's replicas as they should be, in the order of preference. Each move of a plan is safe by itself, after
    those before it: the plan may be stopped, or made anew, after any of them."""

    key: Hashable
    replicas: tuple[NodeId, ...]
