"""Directories that cannot be used while their brokers live: since when, and whether what was in one would fit into the others.

Soft state, as absences are. For how long one is away is written down (`NodeLogDirsChanged.failed`), so that the clock goes on
whoever is the active controller; what fits is said by each broker with its heartbeats.
"""

from collections.abc import Iterable, Iterator
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.ids import NodeId
from millstream_cluster.members import Node
from millstream_controller.core.machine import ControllerMachine

NOTED_AFTER_MS = 10_000
"""What is only away for a moment leaves no record of it."""


class FailedDirectories:
    def __init__(self) -> None:
        self._since: dict[tuple[NodeId, UUID], int] = {}
        self._replaceable: dict[NodeId, frozenset[UUID]] = {}

    def told(self, node: Node, replaceable: Iterable[UUID]) -> None:
        """A live broker says which of its directories the others have room for."""
        self._replaceable[node.node_id] = frozenset(replaceable)

    def has_said(self, node_id: NodeId) -> bool:
        """Whether the broker has told this controller what it has room for."""
        return node_id in self._replaceable

    def may_replace(self, node_id: NodeId, directory: UUID) -> bool:
        """Whether the broker's other directories have room for what was in this one."""
        return directory in self._replaceable.get(node_id, ())

    def look(self, machine: ControllerMachine, now_ms: int) -> None:
        """What has failed by now is away from now on, unless it was before."""
        live = [node for node in machine.image.brokers.values() if not node.fenced]
        self._since = {
            (node.node_id, directory): self._since.get((node.node_id, directory), now_ms)
            for node in live
            for directory in failed_of(machine, node)
        }
        there = {node.node_id for node in live}
        for node_id in self._replaceable.keys() - there:
            del self._replaceable[node_id]

    def noted(self, machine: ControllerMachine, *, now_ms: int, wall_ms: int) -> Iterator[r.NodeLogDirsChanged]:
        """Since when directories are away of which nobody has written it down, or whose time is not over yet by our clock."""
        for node in machine.image.brokers.values():
            if node.fenced:
                continue
            known = {each.directory: each for each in node.failed_log_dirs if each.since_ms <= wall_ms}
            failed = []
            for directory in failed_of(machine, node):
                away_ms = now_ms - self._since[node.node_id, directory]
                if directory in known:
                    failed.append(known[directory])
                elif away_ms >= NOTED_AFTER_MS:
                    failed.append(r.FailedLogDir(directory, wall_ms - away_ms))
            if tuple(failed) != node.failed_log_dirs:
                yield r.NodeLogDirsChanged(node.node_id, node.epoch, node.log_dirs, tuple(failed))


def failed_of(machine: ControllerMachine, node: Node) -> list[UUID]:
    """Directories where this broker has replicas and which it cannot use."""
    return sorted(each for each in machine.holdings.directories_of(node.node_id) if not node.has_directory(each))
