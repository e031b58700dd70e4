"""What a partition's next record says has happened to its replicas: situations that a range of seeds should have been in."""

from collections.abc import Iterator

from millstream_cluster import records as r
from millstream_cluster.ids import NO_NODE
from millstream_cluster.members import Partition


def changed_situations(before: Partition, after: r.PartitionChanged) -> Iterator[str]:
    if set(after.isr) < set(before.isr):
        yield "ISR shrunk"
    if set(before.isr) < set(after.isr):
        yield "ISR expanded"
    if set(after.eligible_leader_replicas) - set(before.eligible_leader_replicas):
        yield "replica became eligible"
    yield from _moved(before, after)
    if after.leader in (NO_NODE, before.leader):
        return
    yield "leader failed over"
    if after.leader in before.eligible_leader_replicas:
        yield "eligible replica elected"


def _moved(before: Partition, after: r.PartitionChanged) -> Iterator[str]:
    was_moving, is_moving = (bool(each.adding_replicas or each.removing_replicas) for each in (before, after))
    if is_moving and not was_moving:
        yield "reassignment begun"
    if is_moving and was_moving and before.replicas != after.replicas:
        yield "reassignment replaced"
    if was_moving and not is_moving:
        target = [node for node in before.replicas if node not in before.removing_replicas]
        yield "reassignment complete" if set(target) == set(after.replicas) else "reassignment cancelled"
