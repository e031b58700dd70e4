"""How a cluster's partitions stand, as its brokers tell it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PartitionStanding:
    topic: str
    index: int
    leader: int
    """-1: there is none."""
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    min_insync_replicas: int
    is_internal: bool = False
    is_moving: bool = False
    leader_epoch: int = -1
    may_lead: tuple[int, ...] = ()
    """Who is out of sync and may yet lead without loss, or is waited for because he led last; asked for where nobody leads."""

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.index}"

    @property
    def is_offline(self) -> bool:
        return self.leader < 0

    @property
    def is_lost(self) -> bool:
        """Whether no copy is left that anybody knows of: only a person's word brings it back, without its records."""
        return self.is_offline and not self.isr and not self.may_lead

    @property
    def is_under_replicated(self) -> bool:
        return len(self.isr) < len(self.replicas)

    @property
    def is_under_min_isr(self) -> bool:
        return not self.is_offline and len(self.isr) < min(self.min_insync_replicas, len(self.replicas))

    @property
    def in_sync_to_keep(self) -> int:
        """How many have to stay in sync when a broker goes by intent: the minimum, or as many as one broker's absence allows."""
        return min(self.min_insync_replicas, len(self.replicas) - 1)


@dataclass(frozen=True, slots=True)
class Totals:
    """The partitions of a cluster in numbers; those of internal topics are among them."""

    total: int
    offline: int
    under_replicated: int
    under_min_isr: int
    moving: int

    @classmethod
    def of(cls, partitions: Sequence[PartitionStanding]) -> "Totals":
        return cls(
            total=len(partitions),
            offline=sum(each.is_offline for each in partitions),
            under_replicated=sum(each.is_under_replicated for each in partitions),
            under_min_isr=sum(each.is_under_min_isr for each in partitions),
            moving=sum(each.is_moving for each in partitions),
        )
