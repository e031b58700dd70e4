"""Blocks of producer ids for brokers, which hand them out one by one without asking again."""

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.ids import ProducerId
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.refusal import DONE, Outcome
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

BLOCK_SIZE = 1_000
NO_ID = ProducerId(-1)


@dataclass(frozen=True, slots=True)
class Block:
    outcome: Outcome
    start: ProducerId = NO_ID
    length: int = 0


def allocate(machine: ControllerMachine, node_id: int, broker_epoch: int) -> Decision[r.MetadataRecord, Block]:
    """Give a registered node the next block; ids are never given twice, used or not."""
    node = machine.image.node(node_id)
    if node is None:
        outcome = Outcome(ErrorCode.BROKER_ID_NOT_REGISTERED, f"node {node_id} is not registered")
        return Decision((), Block(outcome))
    if node.epoch != broker_epoch:
        message = f"node {node_id} has broker epoch {node.epoch}, not {broker_epoch}"
        return Decision((), Block(Outcome(ErrorCode.STALE_BROKER_EPOCH, message)))
    start = machine.image.next_producer_id
    return Decision((r.ProducerIdsAllocated(ProducerId(start + BLOCK_SIZE)),), Block(DONE, start, BLOCK_SIZE))
