"""More or fewer replicas for partitions that are there."""

from collections.abc import Iterable, Iterator, Sequence

from millstream_cluster.placement.candidate import Candidate, PlacementError
from millstream_cluster.placement.carrying import Carrying
from millstream_cluster.placement.moves import Carried, Move


def resize(partitions: Iterable[Carried], brokers: Sequence[Candidate], factor: int) -> Iterator[Move]:
    """Give each partition `factor` replicas, and touch no other replica. The preferred leader stays who it is.

    Raises PlacementError where there are too few brokers that may take one.
    """
    known = list(partitions)
    carrying = Carrying(known, brokers)
    for partition in known:
        replicas = list(partition.replicas)
        while len(replicas) > factor:
            replicas.remove(carrying.give_up(partition, replicas))
        while len(replicas) < factor:
            taker = carrying.take(partition, replicas, replicas)
            if taker is None:
                there = sum(broker.accepts for broker in brokers)
                raise PlacementError(f"{factor} replicas need as many brokers, and {there} may take them")
            replicas.append(taker)
        if tuple(replicas) != partition.replicas:
            yield Move(partition.key, tuple(replicas))
