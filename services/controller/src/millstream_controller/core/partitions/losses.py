"""A broker says which of its partitions it has lost: a decision that takes it out of their ISR and ELR.

As with a whole disk, what is lost is never led again by who lost it, unless a person accepts the loss by an
unclean election; a partition that had no other copy in sync stays without a leader until then.
"""

from itertools import islice
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import RECORDS_MAX
from millstream_controller.core.partitions.change import Cause
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.partitions.leadership import changes
from millstream_controller.core.refusal import DONE, Outcome
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Loss:
    node_id: int
    broker_epoch: int
    partitions: tuple[tuple[UUID, int], ...]


@dataclass(frozen=True, slots=True)
class LossTold:
    outcome: Outcome
    lost: int = 0
    """How many partitions lost an in-sync copy by it."""


def lose_replicas(machine: ControllerMachine, loss: Loss) -> Decision[r.MetadataRecord, LossTold]:
    """Take the broker out of the ISR of these; of very many only the first part, the broker tells the rest again."""
    node = machine.image.node(loss.node_id)
    if node is None:
        message = f"broker {loss.node_id} is not registered"
        return Decision((), LossTold(Outcome(ErrorCode.BROKER_ID_NOT_REGISTERED, message)))
    if node.epoch != loss.broker_epoch:
        message = f"broker {loss.node_id} has broker epoch {node.epoch}, not {loss.broker_epoch}"
        return Decision((), LossTold(Outcome(ErrorCode.STALE_BROKER_EPOCH, message)))
    known = (machine.image.partition(topic_id, number) for topic_id, number in loss.partitions)
    lost = Cause(lost=frozenset({node.node_id}))
    records = tuple(
        islice(changes((each for each in known if each is not None), Electorate(machine), lost), RECORDS_MAX)
    )
    return Decision(records, LossTold(DONE, len(records)))
