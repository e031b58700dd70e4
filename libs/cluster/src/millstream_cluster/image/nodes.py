"""Brokers and coordinators, as their registrations and departures tell them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from millstream_cluster import records as r
from millstream_cluster.errors import ImageError
from millstream_cluster.ids import Offset, Role
from millstream_cluster.members import Node


class NodesImage:
    """Every registered node by its id, fenced ones too."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self.by_id: Mapping[int, Node] = MappingProxyType(self._nodes)

    def of_role(self, role: Role) -> dict[int, Node]:
        return {node_id: node for node_id, node in self._nodes.items() if node.role is role}

    def records(self) -> Iterator[r.MetadataRecord]:
        for node in self._nodes.values():
            yield node.registration()
            if node.failed_log_dirs:
                yield r.NodeLogDirsChanged(node.node_id, node.epoch, node.log_dirs, node.failed_log_dirs)
            if not node.fenced:
                yield r.NodeUnfenced(node.node_id, node.epoch)
            elif node.away_since_ms:
                yield r.NodeFenced(node.node_id, node.epoch, node.away_since_ms)

    def apply(
        self,
        record: r.NodeRegistered | r.NodeFenced | r.NodeUnfenced | r.NodeLogDirsChanged | r.NodeUnregistered,
        offset: Offset,
    ) -> None:
        if isinstance(record, r.NodeRegistered):
            self._nodes[record.node_id] = Node.registered(record, offset, self._nodes.get(record.node_id))
            return
        node = self._nodes.get(record.node_id)
        if node is None or node.epoch != record.epoch:
            raise ImageError(f"{record}: the node is {node}")
        if isinstance(record, r.NodeUnregistered):
            del self._nodes[node.node_id]
        elif isinstance(record, r.NodeFenced):
            self._nodes[node.node_id] = node.fenced_at(offset, record.since_ms)
        elif isinstance(record, r.NodeLogDirsChanged):
            self._nodes[node.node_id] = replace(node, log_dirs=record.log_dirs, failed_log_dirs=record.failed)
        else:
            self._nodes[node.node_id] = node.unfenced()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodesImage) and self._nodes == other._nodes

    __hash__ = None  # type: ignore[assignment]
