"""What the metadata log says of a partition, as the standing of a replica takes it."""

from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Assigned:
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
