"""A broker, as every plan sees it."""

from millstream_cluster.errors import ClusterError
from millstream_cluster.ids import NodeId
from millstream_wire.late_dataclass import dataclass


class PlacementError(ClusterError):
    """There are fewer brokers than replicas wanted."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A broker, with what it carries already."""

    node_id: NodeId
    rack: str | None = None
    replicas: int = 0
    leaders: int = 0
    """Partitions, of all topics, of which it is the preferred leader."""
    topic_replicas: int = 0
    topic_leaders: int = 0
    """As above, of the topic alone that the new partitions are for: they join what a topic that grows has already."""
    size: int = 0
    """Bytes of all its replicas, where they are known."""
    accepts: bool = True
    """Whether it may be given replicas. Plans that move replicas know the others too: their racks count, and what they carry."""
