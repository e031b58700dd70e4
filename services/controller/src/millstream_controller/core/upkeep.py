"""What time and circumstance demand, without anybody asking: one timer command, repeated until it has nothing to do.

In order: nodes that fell silent are fenced, partitions without a leader get one, shards go to live coordinators, and
coordinators that stay away are forgotten.
"""

from itertools import islice

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.members import Node
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import RECORDS_MAX, fence
from millstream_controller.core.nodes.sessions import Sessions
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.partitions.leadership import take_up
from millstream_controller.core.partitions.least_isr import settled_least_isr
from millstream_controller.core.shards import balance


class Absences:
    """Since when each coordinator is fenced, as far as this controller has seen: soft state, like sessions."""

    def __init__(self, forget_ms: int) -> None:
        self._forget_ms = forget_ms
        self._since: dict[int, int] = {}

    def over(self, machine: ControllerMachine, now_ms: int) -> list[Node]:
        """Coordinators that have been fenced for too long to be waited for."""
        fenced: dict[int, Node] = {node.node_id: node for node in machine.image.coordinators.values() if node.fenced}
        self._since = {node_id: self._since.get(node_id, now_ms) for node_id in fenced}
        return [fenced[node_id] for node_id, since in self._since.items() if now_ms - since >= self._forget_ms]


def keep_up(
    machine: ControllerMachine, sessions: Sessions, absences: Absences, now_ms: int, *, settled_offset: int = -1
) -> Decision[r.MetadataRecord, bool]:
    """The next step of upkeep; the reply tells whether there was one. None: all is well until something changes.

    What depends on the metadata alone is not looked at again while it still ends at `settled_offset`.
    """
    for node in sessions.expired(machine.image.nodes.values(), now_ms):
        return Decision(fence(machine, node), True)
    if machine.image.offset != settled_offset:
        due = settled_least_isr(machine) or _elections(machine) or balance(machine)
        if due:
            return Decision(due, True)
    gone = absences.over(machine, now_ms)
    return Decision(tuple(r.NodeUnregistered(node.node_id, node.epoch) for node in gone), bool(gone))


def _elections(machine: ControllerMachine) -> tuple[r.MetadataRecord, ...]:
    return tuple(islice(take_up(machine.offline_partitions(), Electorate(machine)), RECORDS_MAX))
