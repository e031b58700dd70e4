"""Who leads a partition when nodes come and go: pure plans of PartitionChanged records.

Every plan is safe to stop after any prefix: a leader is taken away before its node is fenced, and given after it is unfenced.
"""

from collections.abc import Iterable, Iterator

from millstream_cluster.ids import NO_NODE, NodeId
from millstream_cluster.members import Node, Partition
from millstream_cluster.records import PartitionChanged


def give_up(partitions: Iterable[Partition], live: frozenset[int]) -> Iterator[PartitionChanged]:
    """New leaders for partitions whose leader stops: the first live member of the ISR, or none."""
    for partition in partitions:
        leader = elect(partition, live)
        yield partition.changed(leader=NO_NODE if leader is None else leader)


def take_up(partitions: Iterable[Partition], live: frozenset[int]) -> Iterator[PartitionChanged]:
    """Leaders for those partitions without one that can have one again."""
    for partition in partitions:
        leader = elect(partition, live)
        if leader is not None:
            yield partition.changed(leader=leader)


def lose_copies(partitions: Iterable[Partition], node: Node) -> Iterator[PartitionChanged]:
    """Take a node out of the ISR of what it has lost, all of a disk or single partitions: it must never lead that."""
    for partition in partitions:
        if node.node_id in partition.isr:
            isr = tuple(member for member in partition.isr if member != node.node_id)
            yield partition.changed(isr=isr, leader=NO_NODE if partition.leader == node.node_id else None)


def elect(partition: Partition, live: frozenset[int]) -> NodeId | None:
    """The first replica, in order of preference, that is in sync and live."""
    return next((node for node in partition.replicas if node in partition.isr and node in live), None)
