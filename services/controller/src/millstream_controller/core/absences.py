"""Since when nodes are fenced, as far as this controller has seen: soft state, like sessions. The next one begins anew."""

from millstream_cluster.members import Node
from millstream_controller.core.machine import ControllerMachine


class Absences:
    def __init__(self, forget_ms: int) -> None:
        self._forget_ms = forget_ms
        self._since: dict[int, int] = {}

    def look(self, machine: ControllerMachine, now_ms: int) -> None:
        """Who is fenced now is away from now on, unless it was before."""
        fenced = [node.node_id for node in machine.image.nodes.values() if node.fenced]
        self._since = {node_id: self._since.get(node_id, now_ms) for node_id in fenced}

    def of(self, node: Node, now_ms: int) -> int:
        """For how long the node was seen to be fenced; 0 of one that was not looked at yet."""
        return now_ms - self._since.get(node.node_id, now_ms)

    def over(self, machine: ControllerMachine, now_ms: int) -> list[Node]:
        """Coordinators that have been fenced for too long to be waited for."""
        return [
            node
            for node in machine.image.coordinators.values()
            if node.fenced and self.of(node, now_ms) >= self._forget_ms
        ]
