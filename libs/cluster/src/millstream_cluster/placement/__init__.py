"""Where replicas go: pure plans over brokers, racks and what brokers carry already. The same input gives the same plan.

`place` is for new partitions, `replace` for what a broker that goes away or is gone carries, `resize` for
another replication factor, `even_replicas` and `even_leaders` for brokers that were added. No plan knows where its input is from, or what is done about it.
"""

from millstream_cluster.placement.candidate import Candidate, PlacementError
from millstream_cluster.placement.evening import even_leaders, even_replicas
from millstream_cluster.placement.moves import Carried, Move
from millstream_cluster.placement.new_replicas import place
from millstream_cluster.placement.replacement import replace
from millstream_cluster.placement.resizing import resize

__all__ = [
    "Candidate",
    "Carried",
    "Move",
    "PlacementError",
    "even_leaders",
    "even_replicas",
    "place",
    "replace",
    "resize",
]
