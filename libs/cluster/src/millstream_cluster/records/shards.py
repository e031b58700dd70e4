"""Records of coordinators' partitions and of the producer ids that they and clients write with."""

from uuid import UUID

from millstream_cluster.ids import NodeId, ProducerEpoch, ProducerId
from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ProducerIdsAllocated:
    """Every producer id below `next_producer_id` is given away."""

    next_producer_id: ProducerId


@dataclass(frozen=True, slots=True)
class ShardAssigned:
    """A partition of a coordinator topic belongs to this coordinator, which writes with this producer id and epoch."""

    topic_id: UUID
    partition: int
    coordinator_id: NodeId
    producer_id: ProducerId
    producer_epoch: ProducerEpoch
