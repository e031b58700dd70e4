"""Coordinator topics' partitions as shards: who owns each, and with which producer id and epoch its owner writes.

The fence between two owners is the brokers' ordinary producer fencing: every claim gets an epoch of its own, so the
claim that comes later silences the one before it.
"""

from collections.abc import Mapping, Sequence

from millstream_cluster import records as r
from millstream_cluster.decision import Decision
from millstream_cluster.ids import NO_NODE, NodeId, ProducerEpoch, ProducerId
from millstream_cluster.members import Shard, Topic
from millstream_controller.core.machine import ControllerMachine
from millstream_controller.core.refusal import DONE, Outcome
from millstream_controller.core.topics.topic_names import INTERNAL_TOPICS
from millstream_wire.errors import ErrorCode
from millstream_wire.late_dataclass import dataclass

NO_ID = ProducerId(-1)
NOT_CLAIMED = ProducerEpoch(-1)
EPOCH_MAX = 32_767


@dataclass(frozen=True, slots=True)
class Claimed:
    outcome: Outcome
    producer_id: ProducerId = NO_ID
    producer_epoch: ProducerEpoch = NOT_CLAIMED


def balance(machine: ControllerMachine) -> tuple[r.MetadataRecord, ...]:
    """Give every shard to a live coordinator, evenly, moving as few as possible; none live: leave them as they are."""
    live = machine.live_coordinators()
    if not live:
        return ()
    assigned: list[r.ShardAssigned] = []
    next_id = machine.image.next_producer_id
    for name in sorted(INTERNAL_TOPICS):
        topic = machine.image.topic(name)
        if topic is None:
            continue
        owners = _owners(machine, topic)
        for partition, owner in plan_owners(owners, live).items():
            if owner == owners[partition]:
                continue
            shard = machine.image.shard(topic.topic_id, partition)
            if shard is None:
                shard = Shard(topic.topic_id, partition, NO_NODE, next_id, NOT_CLAIMED)
                next_id = ProducerId(next_id + 1)
            assigned.append(r.ShardAssigned(topic.topic_id, partition, owner, shard.producer_id, shard.producer_epoch))
    if next_id == machine.image.next_producer_id:
        return tuple(assigned)
    return (r.ProducerIdsAllocated(next_id), *assigned)


def plan_owners(owners: Mapping[int, NodeId], live: Sequence[NodeId]) -> dict[int, NodeId]:
    """Owners such that no two live nodes differ by more than one shard and no shard moves without need."""
    plan: dict[int, NodeId] = {}
    load: dict[NodeId, list[int]] = {node: [] for node in live}
    for partition, owner in sorted(owners.items()):
        if owner in load:
            load[owner].append(partition)
            plan[partition] = owner
    for partition in sorted(owners.keys() - plan.keys()):
        idlest = min(live, key=lambda node: (len(load[node]), node))
        load[idlest].append(partition)
        plan[partition] = idlest
    while True:
        idlest = min(live, key=lambda node: (len(load[node]), node))
        busiest = max(live, key=lambda node: (len(load[node]), node))
        if len(load[busiest]) - len(load[idlest]) <= 1:
            return plan
        moved = load[busiest].pop()
        load[idlest].append(moved)
        plan[moved] = idlest


def claim(
    machine: ControllerMachine, topic_name: str, partition: int, claimant: NodeId
) -> Decision[r.MetadataRecord, Claimed]:
    """Give the shard's owner an epoch that nobody had before; `claimant` is the coordinator that asks."""
    image = machine.image
    topic = image.topic(topic_name)
    if topic is None or image.partition(topic_name, partition) is None:
        message = f"{topic_name}-{partition} does not exist"
        return Decision((), Claimed(Outcome(ErrorCode.COORDINATOR_NOT_AVAILABLE, message)))
    shard = image.shard(topic_name, partition)
    if shard is None or shard.coordinator_id != claimant:
        owner = "nobody" if shard is None else f"node {shard.coordinator_id}"
        message = f"{topic_name}-{partition} belongs to {owner}"
        return Decision((), Claimed(Outcome(ErrorCode.NOT_COORDINATOR, message)))
    if shard.producer_epoch < EPOCH_MAX:
        epoch = ProducerEpoch(shard.producer_epoch + 1)
        assigned = r.ShardAssigned(topic.topic_id, partition, shard.coordinator_id, shard.producer_id, epoch)
        return Decision((assigned,), Claimed(DONE, shard.producer_id, epoch))
    fresh = image.next_producer_id
    epoch = ProducerEpoch(0)
    records = (
        r.ProducerIdsAllocated(ProducerId(fresh + 1)),
        r.ShardAssigned(topic.topic_id, partition, shard.coordinator_id, fresh, epoch),
    )
    return Decision(records, Claimed(DONE, fresh, epoch))


def _owners(machine: ControllerMachine, topic: Topic) -> dict[int, NodeId]:
    owners = {}
    for partition in range(len(topic.partitions)):
        shard = machine.image.shard(topic.topic_id, partition)
        owners[partition] = NO_NODE if shard is None else shard.coordinator_id
    return owners
