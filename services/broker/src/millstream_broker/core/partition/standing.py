"""A partition as one of its replicas knows it: who leads, in which epoch, and up to where it is committed.

A step machine: assignments and appends go in, effects come out. It knows nothing of files; who executes the effects owns
the log. Followers join with replication: today the leader is the whole ISR, so what is in its log is committed.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from mypy_extensions import i64

from millstream_cluster.ids import NO_NODE
from millstream_wire.errors import ErrorCode

NO_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class Assigned:
    """The metadata log says this about the partition."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int


@dataclass(frozen=True, slots=True)
class LeadershipBegan:
    """From here on appends carry this epoch; `start_offset` is where it begins."""

    leader_epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class LeadershipEnded:
    """Whoever waits for this partition must ask the next leader."""


Effect: TypeAlias = LeadershipBegan | LeadershipEnded


class Partition:
    """Invariant (`check`): the high watermark is inside the log, and a leader with no followers in sync has it at the end."""

    __slots__ = (
        "_node_id",
        "end_offset",
        "high_watermark",
        "isr",
        "leader",
        "leader_epoch",
        "leads",
        "partition_epoch",
        "replicas",
    )

    def __init__(self, node_id: int, *, end_offset: int) -> None:
        self._node_id = node_id
        self.end_offset: i64 = end_offset
        self.high_watermark: i64 = end_offset
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        self.leader: int = NO_NODE
        self.leader_epoch: i64 = -1
        self.partition_epoch: i64 = -1
        self.leads = False

    def on_assigned(self, event: Assigned) -> tuple[Effect, ...]:
        """Take over what the metadata says; an older state than the one known changes nothing."""
        if event.partition_epoch < self.partition_epoch:
            return ()
        led, led_in = self.leads, self.leader_epoch
        self.replicas, self.isr = event.replicas, event.isr
        self.leader, self.leader_epoch = event.leader, event.leader_epoch
        self.partition_epoch = event.partition_epoch
        self.leads = event.leader == self._node_id
        if self.leads and not (led and led_in == event.leader_epoch):
            ended: tuple[Effect, ...] = (LeadershipEnded(),) if led else ()
            return (*ended, LeadershipBegan(event.leader_epoch, self.end_offset))
        return (LeadershipEnded(),) if led and not self.leads else ()

    def on_appended(self, end_offset: i64) -> None:
        """The log reaches up to `end_offset`; the leader alone is in sync, so all of it is committed."""
        self.end_offset = end_offset
        self.high_watermark = end_offset

    def refusal(self, current_leader_epoch: int) -> ErrorCode:
        """Why a client that believes in this leader epoch (-1: in none) cannot be served here; NONE if it can."""
        if current_leader_epoch not in (NO_EPOCH, self.leader_epoch):
            if current_leader_epoch < self.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE if self.leads else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def check(self) -> None:
        assert 0 <= self.high_watermark <= self.end_offset
        assert not self.leads or self.leader == self._node_id
        assert not (self.leads and len(self.isr) <= 1) or self.high_watermark == self.end_offset
