"""A partition as one of its replicas knows it: who leads, in which epoch, and up to where it is committed.

A step machine: assignments, appends and the fetches of followers go in, effects come out. It knows nothing of files and
clients; who executes the effects owns the log and the connections.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mypy_extensions import i64

from millstream_broker.core.partition.commit_waits import Answer, CommitWait, CommitWaits
from millstream_broker.core.partition.effects import (
    Committed,
    CommitWaitsEnded,
    Effect,
    LeadershipBegan,
    LeadershipEnded,
    LogGrew,
)
from millstream_broker.core.partition.uncommitted import UNKNOWN_SIZE, Uncommitted
from millstream_cluster.ids import NO_NODE
from millstream_wire.errors import ErrorCode

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1


@dataclass(frozen=True, slots=True)
class Assigned:
    """The metadata log says this about the partition."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int


class Partition:
    """Invariant (`check`): 0 <= last stable offset <= high watermark <= end offset, and none of the three falls.

    A leader has the high watermark at what all of the ISR have (alone in it, at its log's end). Commit waits are of the
    present leader epoch and above the high watermark.
    """

    __slots__ = (
        "_awaited",
        "_commit_waits",
        "_end_offset",
        "_ended",
        "_epoch_start_offset",
        "_first_unstable",
        "_followers",
        "_held_size",
        "_high_watermark",
        "_isr",
        "_last_stable_offset",
        "_leader",
        "_leader_epoch",
        "_leads",
        "_node_id",
        "_partition_epoch",
        "_replicas",
        "_uncommitted",
    )

    def __init__(self, node_id: int, *, end_offset: i64, high_watermark: i64, first_unstable: i64 = NO_OFFSET) -> None:
        self._node_id = node_id
        # ---- as the metadata says; none of it is older than what was known before ----
        self._replicas: tuple[int, ...] = ()
        self._isr: tuple[int, ...] = ()
        self._leader: int = NO_NODE
        self._leader_epoch: i64 = NO_EPOCH
        self._partition_epoch: i64 = NO_EPOCH
        self._leads = False
        """This node is `_leader`, and the partition is not given up."""
        self._awaited: tuple[int, ...] = ()
        """The ISR without this node, while it leads: whose log ends hold back the high watermark."""
        self._epoch_start_offset: i64 = NO_OFFSET
        """Where the log ended when this node began to lead in `_leader_epoch`; every record from there on is of that epoch."""
        # ---- as this node's log and its followers say ----
        self._end_offset: i64 = end_offset
        """The log's end as `on_appended` last told it."""
        self._followers: dict[int, int] = {}
        """The log's end of each follower that has fetched in this leader epoch. Only of replicas; may fall when one restarts."""
        self._high_watermark: i64 = high_watermark
        """Every record before it is on all of the ISR. Begins at the checkpoint, moves in `_commit` alone, never falls."""
        self._first_unstable: i64 = first_unstable
        """The first offset of the oldest transaction without its end in the log; NO_OFFSET if there is none."""
        self._ended: list[tuple[int, int]] = []
        """(marker's offset, first offset) of transactions whose marker is not below the high watermark: still undecided."""
        self._last_stable_offset: i64 = self._stable_offset()
        """Every record before it is committed, and so is the end of the transaction it is part of. Moves with the high watermark."""
        self._uncommitted = Uncommitted()
        self._uncommitted.cut(high_watermark, end_offset)
        self._held_size: i64 = 0
        """At least the bytes between the last stable offset and the high watermark."""
        self._commit_waits = CommitWaits()

    # ---- what is known ----

    @property
    def leads(self) -> bool:
        return self._leads

    @property
    def leader_epoch(self) -> i64:
        return self._leader_epoch

    @property
    def epoch_start_offset(self) -> i64:
        return self._epoch_start_offset

    @property
    def replicas(self) -> tuple[int, ...]:
        return self._replicas

    @property
    def isr(self) -> tuple[int, ...]:
        return self._isr

    @property
    def end_offset(self) -> i64:
        return self._end_offset

    @property
    def high_watermark(self) -> i64:
        return self._high_watermark

    @property
    def last_stable_offset(self) -> i64:
        return self._last_stable_offset

    def refusal(self, current_leader_epoch: int) -> ErrorCode:
        """Why a client that believes in this leader epoch (-1: in none) cannot be served here; NONE if it can."""
        if current_leader_epoch not in (NO_EPOCH, self._leader_epoch):
            if current_leader_epoch < self._leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE if self._leads else ErrorCode.NOT_LEADER_OR_FOLLOWER

    # ---- events ----

    def on_assigned(self, event: Assigned) -> tuple[Effect, ...]:
        """Take over what the metadata says; an older state than the one known changes nothing."""
        if event.partition_epoch < self._partition_epoch:
            return ()
        led, led_in = self._leads, self._leader_epoch
        self._replicas, self._isr = event.replicas, event.isr
        self._leader, self._leader_epoch = event.leader, event.leader_epoch
        self._partition_epoch = event.partition_epoch
        self._leads = event.leader == self._node_id
        self._awaited = tuple(node for node in event.isr if node != self._node_id) if self._leads else ()
        effects: list[Effect] = []
        if led and not (self._leads and led_in == self._leader_epoch):
            effects += self._end_leadership()
        if self._leads and not (led and led_in == self._leader_epoch):
            self._epoch_start_offset = self._end_offset
            effects.append(LeadershipBegan(event.leader_epoch, int(self._end_offset)))
        self._followers = {node: end for node, end in self._followers.items() if node in event.replicas}
        # A smaller ISR may have committed what its last member has not fetched (KAFKA-13091).
        return (*effects, *self._advance())

    def on_given_up(self) -> tuple[Effect, ...]:
        """This node keeps the partition no longer."""
        led, self._leads, self._awaited = self._leads, False, ()
        return tuple(self._end_leadership()) if led else ()

    def on_appended(
        self,
        end_offset: i64,
        size: i64,
        first_unstable: i64 = NO_OFFSET,
        ended_from: i64 = NO_OFFSET,
        is_heard: bool = True,
    ) -> tuple[Effect, ...]:
        """The log got `size` bytes more and reaches up to `end_offset`.

        `first_unstable` is where the oldest open transaction begins now; `ended_from` is where the one began that the last
        record ended. Where nobody would hear the effects there need not be any: making them is a fortieth of a produce.
        """
        self._end_offset = end_offset
        self._first_unstable = first_unstable
        if not is_heard and first_unstable < 0 and self._leads and not self._awaited:
            self._high_watermark = self._last_stable_offset = end_offset
            self._held_size = 0
            return ()
        grew = LogGrew(end_offset, size)
        if self._leads and not self._awaited:
            return grew, self._commit(end_offset, size)
        if ended_from >= 0:
            self._ended.append((int(end_offset) - 1, ended_from))
        self._uncommitted.add(end_offset, size)
        return grew, *self._advance()

    def on_fetched(self, replica_id: int, fetch_offset: i64) -> tuple[Effect, ...]:
        """A follower asks for what comes at `fetch_offset` in the present epoch: it has everything before."""
        if not self._leads or replica_id not in self._replicas or replica_id == self._node_id:
            return ()
        self._followers[replica_id] = min(int(fetch_offset), int(self._end_offset))
        return self._advance()

    def on_followed(
        self,
        end_offset: i64,
        size: i64,
        leader_high_watermark: i64,
        first_unstable: i64 = NO_OFFSET,
        ended: Sequence[tuple[int, int]] = (),
    ) -> tuple[Effect, ...]:
        """As a follower: `size` bytes were copied, the log reaches up to `end_offset`, and the leader says what is committed.

        `ended` has a (marker's offset, first offset) for each transaction that the copied batches ended. Nothing may have
        been copied: what the leader has committed is news as well. Only what is here counts as committed here.
        """
        assert not self._leads, "a leader copies from nobody"
        assert end_offset >= self._end_offset, "what is cut is told by `on_truncated`"
        has_grown = end_offset > self._end_offset
        self._end_offset = end_offset
        self._first_unstable = first_unstable
        self._ended += ended
        effects: list[Effect] = []
        if has_grown:
            self._uncommitted.add(end_offset, size)
            effects.append(LogGrew(end_offset, size))
        point = min(end_offset, leader_high_watermark)
        if point > self._high_watermark:
            effects.append(self._commit(point, self._uncommitted.take(point)))
        return tuple(effects)

    def on_truncated(
        self,
        end_offset: i64,
        first_unstable: i64 = NO_OFFSET,
        ended: Sequence[tuple[int, int]] = (),
        *,
        start_offset: i64 = 0,
    ) -> tuple[Effect, ...]:
        """As a follower: the log was cut back to `end_offset`, or emptied to begin anew at `start_offset`, which then is its end.

        `ended` are the transactions whose marker is still there, at least those with it above the high watermark. The high
        watermark falls only with the log's end: after an unclean election, or where the leader's log begins beyond ours.
        """
        assert not self._leads, "a leader's log is what the others are cut back to"
        self._end_offset = end_offset
        self._high_watermark = max(start_offset, min(self._high_watermark, end_offset))
        self._first_unstable = first_unstable
        self._ended = [(marker, first) for marker, first in ended if marker >= self._high_watermark]
        self._last_stable_offset = self._stable_offset()
        self._held_size = UNKNOWN_SIZE if self._last_stable_offset < self._high_watermark else 0
        self._uncommitted.cut(self._high_watermark, end_offset)
        return ()

    def await_commit(self, offset: i64, answer: Answer) -> CommitWait:
        """Have `answer` handed back once the record at `offset` is committed, or this leader epoch is over."""
        assert self._leads
        assert self._high_watermark <= offset < self._end_offset, "in the log, and not committed"
        return self._commit_waits.add(self._leader_epoch, offset, answer)

    def cancel(self, wait: CommitWait) -> None:
        """Whoever waited is gone, or is answered."""
        self._commit_waits.cancel(wait)

    # ---- consequences ----

    def _end_leadership(self) -> list[Effect]:
        self._followers.clear()
        waits = self._commit_waits.take_all()
        refused: list[Effect] = [CommitWaitsEnded(waits, ErrorCode.NOT_LEADER_OR_FOLLOWER)] if waits else []
        return [LeadershipEnded(), *refused]

    def _advance(self) -> tuple[Effect, ...]:
        """Move the high watermark to what all of the ISR have, if that is further."""
        if not self._leads:
            return ()
        point = self._end_offset
        for node in self._awaited:
            known: i64 = self._followers.get(node, 0)
            point = min(point, known)
        if point <= self._high_watermark:
            return ()
        committed = self._commit(point, self._uncommitted.take(point))
        waits = self._commit_waits.take_committed(point)
        return (committed, CommitWaitsEnded(waits, ErrorCode.NONE)) if waits else (committed,)

    def _commit(self, high_watermark: i64, size: i64) -> Committed:
        self._high_watermark = high_watermark
        if self._ended:
            self._ended = [(marker, first) for marker, first in self._ended if marker >= high_watermark]
        stable = self._stable_offset()
        held = self._held_size + size
        stable_size: i64 = 0
        if stable > self._last_stable_offset:
            stable_size = held
            self._last_stable_offset = stable
        # What is held back in part counts again when the rest of it is let go.
        self._held_size = 0 if stable == high_watermark else held
        return Committed(high_watermark, stable, size, stable_size)

    def _stable_offset(self) -> i64:
        stable = self._high_watermark
        if 0 <= self._first_unstable < stable:
            stable = self._first_unstable
        for _, first in self._ended:
            begun: i64 = first
            stable = min(stable, begun)
        return stable

    def check(self) -> None:
        assert 0 <= self._last_stable_offset <= self._high_watermark <= self._end_offset
        assert self._last_stable_offset == self._stable_offset()
        assert not self._leads or self._leader == self._node_id
        assert not (self._leads and not self._awaited) or self._high_watermark == self._end_offset
        assert all(marker >= self._high_watermark for marker, _ in self._ended)
        assert self._leads or not self._followers
        assert set(self._followers) <= set(self._replicas)
        self._uncommitted.check()
        assert self._leads or not len(self._commit_waits)
        self._commit_waits.check(self._leader_epoch, self._high_watermark)
