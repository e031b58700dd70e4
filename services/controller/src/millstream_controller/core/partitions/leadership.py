"""What becomes of partitions when brokers come and go: pure plans of PartitionChanged records.

Every plan is safe to stop after any prefix: a broker leaves ISRs before it is fenced, and leads after it is unfenced.
"""

from collections.abc import Iterable, Iterator

from millstream_cluster.ids import NodeId
from millstream_cluster.members import Partition
from millstream_cluster.records import PartitionChanged
from millstream_controller.core.partitions.change import PRESENT, Cause, next_state
from millstream_controller.core.partitions.electorate import Electorate


def changes(
    partitions: Iterable[Partition], electorate: Electorate, cause: Cause = PRESENT
) -> Iterator[PartitionChanged]:
    """What this cause changes of these."""
    for partition in partitions:
        change = next_state(partition, electorate, cause)
        if change is not None:
            yield change


def take_up(partitions: Iterable[Partition], electorate: Electorate) -> Iterator[PartitionChanged]:
    """Leaders for those partitions without one that can have one again."""
    return changes(partitions, electorate)


def make_way(partitions: Iterable[Partition], electorate: Electorate, node_id: NodeId) -> Iterator[PartitionChanged]:
    """A broker that is about to stop leaves those ISRs that have somebody else who stays; of the others it is the last."""
    staying = electorate.electable - {node_id}
    shared = (each for each in partitions if node_id in each.isr and not staying.isdisjoint(each.isr))
    return changes(shared, electorate, Cause(leaving=frozenset({node_id})))
