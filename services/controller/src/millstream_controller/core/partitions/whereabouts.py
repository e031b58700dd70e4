"""A broker says in which of its directories its replicas are (KIP-858): a decision that notes it with the partitions.

A replica that is said to be in a directory that has failed is away from then on, whichever of the two was known first.
"""

from collections.abc import Mapping
from uuid import UUID

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.ids import NodeId
from millstream_cluster.metadata_version import MetadataVersion
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.nodes.nodes import RECORDS_MAX
from millstream_controller.core.partitions.change import Cause, next_state
from millstream_controller.core.partitions.electorate import Electorate
from millstream_controller.core.refusal import DONE, Outcome
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Whereabouts:
    node_id: int
    broker_epoch: int
    places: Mapping[tuple[UUID, int], UUID]
    """Directories by topic id and partition."""


@dataclass(frozen=True, slots=True)
class WhereaboutsTold:
    outcome: Outcome
    errors: Mapping[tuple[UUID, int], ErrorCode]
    """Of those that could not be noted."""


def note_whereabouts(machine: ControllerMachine, told: Whereabouts) -> Decision[r.MetadataRecord, WhereaboutsTold]:
    """Of very many only the first part is noted; the broker tells the rest again."""
    refusal = _refuse(machine, told)
    if refusal is not None:
        return Decision((), WhereaboutsTold(refusal, {}))
    errors: dict[tuple[UUID, int], ErrorCode] = {}
    records: list[r.MetadataRecord] = []
    electorate = Electorate(machine)
    for (topic_id, number), directory in told.places.items():
        partition = machine.image.partition(topic_id, number)
        if partition is None:
            known = machine.image.topic(topic_id) is not None
            errors[topic_id, number] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if known else ErrorCode.UNKNOWN_TOPIC_ID
        elif told.node_id not in partition.replicas:
            errors[topic_id, number] = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif partition.directory_of(told.node_id) != directory and len(records) < RECORDS_MAX:
            change = next_state(partition, electorate, Cause(directories={NodeId(told.node_id): directory}))
            assert change is not None, "its directory is another one"
            records.append(change)
    return Decision(tuple(records), WhereaboutsTold(DONE, errors))


def _refuse(machine: ControllerMachine, told: Whereabouts) -> Outcome | None:
    node = machine.image.brokers.get(told.node_id)
    if node is None:
        return Outcome(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {told.node_id} is not registered")
    if node.epoch != told.broker_epoch:
        message = f"broker {told.node_id} has broker epoch {node.epoch}, not {told.broker_epoch}"
        return Outcome(ErrorCode.STALE_BROKER_EPOCH, message)
    if told.places and machine.image.metadata_version < MetadataVersion.RELEASE_0_2:
        return Outcome(ErrorCode.UNSUPPORTED_VERSION, "metadata.version knows nothing of directories")
    return None
