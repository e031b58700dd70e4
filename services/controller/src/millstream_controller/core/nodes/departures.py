"""Who is about to stop: brokers in their controlled shutdown, who neither join an ISR nor are elected (KIP-841).

Soft state. A controller that takes over has forgotten it until the broker's next heartbeat, which says it again; until then the
broker may be let in somewhere, and leaves cleanly once more.
"""

from typing import Any

from millstream_cluster.ids import BrokerEpoch, NodeId
from millstream_cluster.image import Image
from millstream_cluster.members import Node
from millstream_wire.late_dataclass import dataclass


class Departures:
    """Invariant: a departure is of one life of a broker; its next registration ends it."""

    def __init__(self) -> None:
        self._epochs: dict[NodeId, BrokerEpoch] = {}

    def brokers(self, image: Image) -> frozenset[int]:
        """Those whose present life is about to end."""
        if not self._epochs:
            return frozenset()
        present = ((node_id, image.node(node_id), epoch) for node_id, epoch in self._epochs.items())
        return frozenset(node_id for node_id, node, epoch in present if node is not None and node.epoch == epoch)

    def note(self, node: Node) -> None:
        self._epochs[node.node_id] = node.epoch


@dataclass(frozen=True, slots=True)
class Departed:
    """A change of what is kept in memory only: this life of the broker is about to end."""

    node: Node

    def make(self, machine: Any) -> None:
        machine.departures.note(self.node)
