"""What a group's shard writes down of transactions: offsets that wait for the end of theirs, and how far their producers are."""

from millstream_wire.late_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingOffset:
    """An offset that is committed if its transaction is."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    order: int = 0
    """Higher than that of whatever waited at the same place when this came: the later of two wins, whichever ends first."""


@dataclass(frozen=True, slots=True)
class OffsetPending:
    """Without a value: it waits no more."""

    producer_id: int
    group_id: str
    topic: str
    partition: int
    value: PendingOffset | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenProducer:
    epoch: int
    """The highest that was seen, markers included: lower ones are refused."""
    coordinator_epoch: int = -1
    """Of the last marker."""
    markers: int = 0
    """How many of its transactions ended here."""
    updated_ms: int


@dataclass(frozen=True, slots=True)
class ProducerSeen:
    """Without a value: it was silent for too long to be remembered."""

    producer_id: int
    value: SeenProducer | None


PendingRecord = OffsetPending | ProducerSeen
