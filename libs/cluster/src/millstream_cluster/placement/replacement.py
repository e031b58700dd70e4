"""Other brokers for replicas whose broker goes away, or is gone."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from millstream_cluster.ids import NodeId
from millstream_cluster.placement.candidate import Candidate
from millstream_cluster.placement.carrying import Carrying
from millstream_cluster.placement.moves import Carried, Move


def replace(partitions: Iterable[Carried], brokers: Sequence[Candidate], leaving: Collection[NodeId]) -> Iterator[Move]:
    """Give every replica on a broker that leaves, or leaves its partition, another broker, and touch no other replica.

    A new replica takes the place of the one that leaves, so the preferred leader stays who it was unless it is the one that leaves.
    A partition for which there is no broker left out is left as it is.
    """
    known = list(partitions)
    carrying = Carrying(known, brokers, leaving)
    for partition in known:
        replicas = list(partition.replicas)
        for place, node in enumerate(partition.replicas):
            if node not in leaving and node not in partition.leaving:
                continue
            staying = [each for each in replicas if each not in leaving and each not in partition.leaving]
            taker = carrying.take(partition, replicas, staying)
            replicas[place] = node if taker is None else taker
        if tuple(replicas) != partition.replicas:
            yield Move(partition.key, tuple(replicas))
