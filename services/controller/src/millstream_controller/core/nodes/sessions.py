"""Who was heard when: the soft state behind fencing, started anew with each takeover and after each outage.

Not replicated, and it decides nothing: it only names the nodes whose session has ended.
"""

from collections.abc import Iterable

from millstream_cluster.ids import BrokerEpoch, NodeId
from millstream_cluster.members import Node
from millstream_cluster.records import FenceReason


class Sessions:
    """Invariant: a session belongs to one broker epoch; a newer registration of the node begins a new one."""

    def __init__(self, timeout_ms: int, first_timeout_ms: int) -> None:
        """`first_timeout_ms`: for who was not heard here yet, and may have been kept by the controller before this one."""
        self._timeout_ms = timeout_ms
        self._first_timeout_ms = first_timeout_ms
        self._heard: dict[NodeId, tuple[int, int]] = {}  # node id -> (broker epoch, deadline)
        self._died: dict[NodeId, BrokerEpoch] = {}
        self._unheard: set[NodeId] = set()
        """Those among `_heard` that have a first session and said nothing yet."""

    def heard(self, node: Node, now_ms: int) -> None:
        """The node spoke under its present epoch."""
        self._heard[node.node_id] = (node.epoch, now_ms + self._timeout_ms)
        self._died.pop(node.node_id, None)
        self._unheard.discard(node.node_id)

    def live(self, node: Node, now_ms: int) -> bool:
        """Whether the node's session runs; one that was never heard here gets its first one."""
        return self._deadline(node, now_ms) > now_ms

    def expired(self, nodes: Iterable[Node], now_ms: int) -> list[Node]:
        """The unfenced nodes among these whose session has ended, in the order of their ids."""
        ended = [node for node in nodes if not node.fenced and self._deadline(node, now_ms) <= now_ms]
        return sorted(ended, key=lambda node: node.node_id)

    def next_end_ms(self, nodes: Iterable[Node], now_ms: int) -> int | None:
        """When the next session of the unfenced nodes among these ends unless its node is heard before; None: there is none."""
        ends = (self._deadline(node, now_ms) for node in nodes if not node.fenced)
        return min((end_ms for end_ms in ends if end_ms > now_ms), default=None)

    def silence_ms(self, node: Node, now_ms: int) -> int:
        """For how long it has not been heard; of one that was never heard here at least that."""
        return now_ms - (self._deadline(node, now_ms) - self._timeout_ms)

    def is_heard(self, node: Node, now_ms: int, within_ms: int) -> bool:
        """Whether it has spoken here, and not longer ago than this."""
        return self.silence_ms(node, now_ms) <= within_ms and node.node_id not in self._unheard

    def end(self, node: Node, now_ms: int) -> None:
        """The node is known to be gone: nothing has to be waited for."""
        self._heard[node.node_id] = (node.epoch, now_ms)
        self._died[node.node_id] = node.epoch

    def why_ended(self, node: Node) -> FenceReason:
        """Of a session that has ended."""
        return FenceReason.DIED if self._died.get(node.node_id) == node.epoch else FenceReason.SILENT

    def start_anew(self) -> None:
        """After a pause or an outage of ours nobody's silence counts: it is as if every node had not been heard yet."""
        self._heard.clear()
        self._died.clear()
        self._unheard.clear()

    def keep(self, nodes: Iterable[Node]) -> None:
        """Forget sessions of nodes that are not registered any more."""
        known = {node.node_id for node in nodes}
        for node_id in self._heard.keys() - known:
            del self._heard[node_id]
            self._died.pop(node_id, None)
            self._unheard.discard(node_id)

    def _deadline(self, node: Node, now_ms: int) -> int:
        if node.node_id not in self._heard:
            self._heard[node.node_id] = (node.epoch, now_ms + self._first_timeout_ms)
            self._unheard.add(node.node_id)
        elif self._heard[node.node_id][0] != node.epoch:
            self.heard(node, now_ms)
        return self._heard[node.node_id][1]
