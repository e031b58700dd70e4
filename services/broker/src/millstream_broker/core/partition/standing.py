"""A partition as one of its replicas knows it: who leads, in which epoch, who is in sync, and up to where it is committed.

A step machine: assignments, appends, fetches, what was copied and the controller's answers go in, effects come out. It knows
nothing of files and clients; who executes the effects owns the log and the connections.
"""

from collections.abc import Sequence
from typing import Final

from mypy_extensions import i64

from millstream_broker.core.partition.assigned import Assigned as Assigned
from millstream_broker.core.partition.commit_waits import Answer, CommitWait, CommitWaits
from millstream_broker.core.partition.effects import (
    Committed,
    CommitWaitsEnded,
    Effect,
    LeadershipBegan,
    LeadershipEnded,
    LogGrew,
    LogStartsMoved,
    ProposeIsr,
)
from millstream_broker.core.partition.isr import InSync, IsrAnswer, Verdict, verdict_of
from millstream_broker.core.partition.marks import NO_OFFSET as NO_OFFSET
from millstream_broker.core.partition.marks import Marks
from millstream_broker.core.partition.progress import Progress
from millstream_cluster.ids import NO_NODE
from millstream_wire.errors import ErrorCode

NO_EPOCH: Final = -1


class Partition:
    """Invariant (`check`): 0 <= last stable offset <= high watermark <= end offset, and none of the three falls but by a cut.

    A leader has the high watermark at what all have who are in sync or proposed to be (alone, at its log's end), but does not
    move it while fewer are in sync than the topic asks for (KIP-966). Commit waits are of the present leader epoch and above
    the high watermark. There is at most one proposal for the ISR, for the state of the partition that is known here.
    """

    __slots__ = (
        "_awaited",
        "_commit_waits",
        "_commits_alone",
        "_epoch_start_offset",
        "_followers",
        "_in_sync",
        "_leader",
        "_leader_epoch",
        "_leads",
        "_marks",
        "_min_insync_replicas",
        "_node_id",
        "_on_disk",
        "_partition_epoch",
        "_replicas",
        "_waits_for_disk",
    )

    def __init__(
        self,
        node_id: int,
        *,
        end_offset: i64,
        high_watermark: i64,
        first_unstable: i64 = NO_OFFSET,
        ended: Sequence[tuple[int, int]] = (),
        min_insync_replicas: int = 1,
    ) -> None:
        """`ended`: the (marker's offset, first offset) of transactions that the log ends above the high watermark."""
        self._node_id = node_id
        self._replicas: tuple[int, ...] = ()
        self._in_sync = InSync()
        self._leader: int = NO_NODE
        self._leader_epoch: i64 = NO_EPOCH
        self._partition_epoch: i64 = NO_EPOCH
        self._min_insync_replicas = min_insync_replicas
        self._leads = False
        """This node is `_leader`, and the partition is not given up."""
        self._epoch_start_offset: i64 = NO_OFFSET
        """Where the log ended when this node began to lead in `_leader_epoch`; every record from there on is of that epoch."""
        self._marks = Marks(end_offset, high_watermark, first_unstable, ended)
        """The high watermark begins at the checkpoint. What a leader moves it to is decided in `_advance` alone."""
        self._followers: dict[int, Progress] = {}
        """Of each other replica, while this node leads: what it did in this leader epoch."""
        self._on_disk, self._waits_for_disk = Progress(), False
        """How far this node's own log was flushed, and whether the topic asks that this counts as well."""
        self._commit_waits = CommitWaits()
        self._awaited: tuple[Progress, ...] = ()
        """Of all others that are in sync or proposed to be, maybe of this node's disk: they hold back the high watermark."""
        self._commits_alone = False
        """Whether an append is committed with that: this node leads, awaits nobody, and nobody else has to be in sync."""

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
    def follows_in_sync(self) -> bool:
        """Whether another node leads, and this one is in sync as far as it knows."""
        return self._leader not in (NO_NODE, self._node_id) and self._node_id in self._in_sync.committed

    @property
    def isr(self) -> tuple[int, ...]:
        """As the controller has committed it."""
        return self._in_sync.committed

    @property
    def end_offset(self) -> i64:
        return self._marks.end_offset

    @property
    def high_watermark(self) -> i64:
        return self._marks.high_watermark

    @property
    def last_stable_offset(self) -> i64:
        return self._marks.last_stable_offset

    @property
    def min_insync_replicas(self) -> int:
        """A topic cannot have more replicas in sync than it has replicas (KIP-966)."""
        return min(self._min_insync_replicas, len(self._replicas))

    @property
    def knows_high_watermark(self) -> bool:
        """Whether the high watermark is where the leaders before had it, or further: a new leader's is behind at first (KIP-207)."""
        return self._marks.high_watermark >= self._epoch_start_offset

    def follower(self, node_id: int) -> Progress | None:
        """How far another replica is, while this node leads."""
        return self._followers.get(node_id)

    def refusal(self, current_leader_epoch: int) -> ErrorCode:
        """Why a client that believes in this leader epoch (-1: in none) cannot be served here; NONE if it can."""
        if current_leader_epoch not in (NO_EPOCH, self._leader_epoch):
            if current_leader_epoch < self._leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE if self._leads else ErrorCode.NOT_LEADER_OR_FOLLOWER

    # ---- events: who leads, who is in sync ----

    def on_assigned(self, event: Assigned) -> tuple[Effect, ...]:
        """Take over what the metadata says; of an older state than the controller's last answer only that this node is shut out."""
        is_shut_out = self._leads and (event.leader, event.leader_epoch) == (NO_NODE, self._leader_epoch)
        if event.partition_epoch < self._partition_epoch and not is_shut_out:
            return ()
        led, led_in = self._leads, self._leader_epoch
        if event.partition_epoch > self._partition_epoch:
            self._in_sync.learn(event.isr)
        self._replicas = event.replicas
        self._leader, self._leader_epoch = event.leader, event.leader_epoch
        self._partition_epoch = max(event.partition_epoch, self._partition_epoch)
        self._leads = event.leader == self._node_id
        effects: list[Effect] = []
        if led and not (self._leads and led_in == self._leader_epoch):
            effects += self._end_leadership()
        if self._leads and not (led and led_in == self._leader_epoch):
            self._epoch_start_offset = self._marks.end_offset
            effects.append(LeadershipBegan(event.leader_epoch, int(self._marks.end_offset)))
        return (*effects, *self._look_again())

    def on_given_up(self) -> tuple[Effect, ...]:
        """This node keeps the partition no longer."""
        led, self._leads = self._leads, False
        return (*self._end_leadership(), *self._look_again()) if led else ()

    def on_configured(self, min_insync_replicas: int, waits_for_disk: bool = False) -> tuple[Effect, ...]:
        """The topic asks for so many replicas in sync, and that these have flushed; less than before may commit what waits."""
        self._min_insync_replicas, self._waits_for_disk = min_insync_replicas, waits_for_disk
        return self._look_again()

    def on_flushed(self, end_offset: i64) -> tuple[Effect, ...]:
        """This node's log is on its disk up to here."""
        self._on_disk.end_offset = end_offset
        return self._advance() if self._waits_for_disk else ()

    def on_tick(self, now_ms: i64, lag_max_ms: i64) -> tuple[Effect, ...]:
        """Time has passed: who did not keep up leaves the ISR."""
        if not self._leads:
            return ()
        return self._leave_out(self._in_sync.lagging(self._followers, self._marks.end_offset, now_ms, lag_max_ms))

    def on_append_refused(self) -> tuple[Effect, ...]:
        """The log takes nothing any more: somebody else in sync should lead. Until that is known all goes on as it was."""
        isr = self._in_sync.committed
        if not self._leads or len(isr) < 2 or self._in_sync.proposal is not None:
            return ()
        return self._propose(isr, resigns=True)

    def on_isr_answered(self, asked: ProposeIsr, answer: IsrAnswer) -> tuple[Effect, ...]:
        """The controller answered a proposal, or the answer is lost; the metadata may have been faster."""
        in_sync = self._in_sync
        verdict = verdict_of(answer.error_code)
        if verdict is not Verdict.TAKEN:
            return (asked,) if in_sync.judged(asked, verdict) else self._look_again()
        least = self._partition_epoch + (in_sync.proposal != asked)
        if not self._leads or answer.leader_epoch != self._leader_epoch or answer.partition_epoch < least:
            return ()  # the metadata knows better, or soon will
        if not set(in_sync.committed) <= set(answer.isr):
            return ()  # the metadata comes first: it may say that more have to be in sync, and who leaves may be elected
        self._partition_epoch = answer.partition_epoch
        in_sync.learn(answer.isr)
        return self._look_again()

    # ---- events: the log, here and on followers ----

    def on_appended(
        self,
        end_offset: i64,
        size: i64,
        first_unstable: i64 = NO_OFFSET,
        ended_from: i64 = NO_OFFSET,
        is_heard: bool = True,
    ) -> tuple[Effect, ...]:
        """`size` bytes more, up to `end_offset`. The oldest open transaction begins at `first_unstable`, the one that was ended at `ended_from`."""
        if self._commits_alone:
            if not is_heard and first_unstable < 0:
                self._marks.commit_all(end_offset)
                return ()
            return LogGrew(end_offset, size), self._marks.grow_committed(end_offset, size, first_unstable)
        ended = ((int(end_offset) - 1, int(ended_from)),) if ended_from >= 0 else ()
        self._marks.grow(end_offset, size, first_unstable, ended)
        return LogGrew(end_offset, size), *self._advance()

    def on_fetched(
        self,
        replica_id: int,
        fetch_offset: i64,
        *,
        broker_epoch: i64,
        now_ms: i64,
        may_join: bool,
        log_start_offset: i64 = NO_OFFSET,
        cannot_append: bool = False,
    ) -> tuple[Effect, ...]:
        """A follower asks, in its life `broker_epoch`, for what comes at `fetch_offset` in the present epoch: it has all before.

        `may_join`: that life is registered, unfenced and not about to stop (KIP-841). `cannot_append`: its log refuses more.
        """
        progress = self._followers.get(replica_id)
        if progress is None:
            return ()
        end_offset = self._marks.end_offset
        known_start = progress.log_start_offset
        if not progress.on_fetched(
            min(fetch_offset, end_offset), leader_end_offset=end_offset, broker_epoch=broker_epoch, now_ms=now_ms
        ):
            return ()
        progress.log_start_offset, progress.cannot_append = log_start_offset, cannot_append
        is_over = self._in_sync.met(replica_id, broker_epoch)
        effects: list[Effect] = [*(self._look_again() if is_over else self._advance())]
        if log_start_offset > known_start:
            effects.append(LogStartsMoved())
        if cannot_append:
            return (*effects, *self._leave_out([replica_id]))
        # Leaders before may have committed up to where this epoch begins, and have told nobody (KAFKA-7128).
        required = max(self._marks.high_watermark, self._epoch_start_offset)
        if may_join and progress.end_offset >= required and self._in_sync.lacks(replica_id):
            progress.on_joining(now_ms)
            effects += self._propose([*self._in_sync.committed, replica_id])
        return tuple(effects)

    def on_followed(
        self,
        end_offset: i64,
        size: i64,
        leader_high_watermark: i64,
        first_unstable: i64 = NO_OFFSET,
        ended: Sequence[tuple[int, int]] = (),
    ) -> tuple[Effect, ...]:
        """As a follower: `size` bytes were copied, or none, the log ends at `end_offset`, and the leader says what is committed.

        `ended` has a (marker's offset, first offset) for each transaction that they ended. Only what is here is committed here.
        """
        assert not self._leads, "a leader copies from nobody"
        marks = self._marks
        assert end_offset >= marks.end_offset, "what is cut is told by `on_truncated`"
        effects: list[Effect] = []
        if end_offset > marks.end_offset:
            marks.grow(end_offset, size, first_unstable, ended)
            effects.append(LogGrew(end_offset, size))
        point = min(end_offset, leader_high_watermark)
        if point > marks.high_watermark:
            effects.append(marks.commit(point))
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

        `ended` are the transactions whose marker is still there. The high watermark falls only with the log's end.
        """
        assert not self._leads, "a leader's log is what the others are cut back to"
        high_watermark = max(start_offset, min(self._marks.high_watermark, end_offset))
        self._marks.cut(end_offset, high_watermark, first_unstable, ended)
        return ()

    # ---- who waits for a commit ----

    def await_commit(self, offset: i64, answer: Answer) -> CommitWait:
        """Have `answer` handed back once the record at `offset` is committed, or this leader epoch is over."""
        assert self._leads
        assert self._marks.high_watermark <= offset < self._marks.end_offset, "in the log, and not committed"
        return self._commit_waits.add(self._leader_epoch, offset, answer)

    def cancel(self, wait: CommitWait) -> None:
        """Whoever waited is gone, or is answered."""
        self._commit_waits.cancel(wait)

    # ---- consequences ----

    def _end_leadership(self) -> list[Effect]:
        self._followers.clear()
        self._in_sync.drop()
        waits = self._commit_waits.take_all()
        refused: list[Effect] = [CommitWaitsEnded(waits, ErrorCode.NOT_LEADER_OR_FOLLOWER)] if waits else []
        return [LeadershipEnded(), *refused]

    def _leave_out(self, nodes: Sequence[int]) -> tuple[Effect, ...]:
        isr = [node for node in self._in_sync.committed if node not in nodes]
        return self._propose(isr) if self._in_sync.may_shrink_to(isr) else ()

    def _propose(self, isr: Sequence[int], resigns: bool = False) -> tuple[Effect, ...]:
        epochs = {"leader_epoch": int(self._leader_epoch), "partition_epoch": int(self._partition_epoch)}
        proposal = self._in_sync.propose(isr, self._followers, **epochs, resigns=resigns)
        # Who is let in holds back the high watermark from now on: the controller may have let it in any moment.
        return (*self._look_again(), proposal)

    def _look_again(self) -> tuple[Effect, ...]:
        """Who leads, who is in sync or how many have to be is another: so may be who is awaited, and what is committed."""
        if not self._leads:
            self._awaited, self._commits_alone = (), False
            return ()
        known, maximal = self._followers, self._in_sync.maximal
        others = [node for node in dict.fromkeys((*self._replicas, *maximal)) if node != self._node_id]
        self._followers = {node: known[node] if node in known else Progress() for node in others}
        awaited = [self._followers[node] for node in maximal if node != self._node_id]
        self._awaited = (*awaited, self._on_disk) if self._waits_for_disk else tuple(awaited)
        self._commits_alone = not self._awaited and not self._is_under_min_isr
        return self._advance()

    @property
    def _is_under_min_isr(self) -> bool:
        return len(self._in_sync.committed) < self.min_insync_replicas

    def _advance(self) -> tuple[Effect, ...]:
        """Move the high watermark to what all have who are awaited, if that is further."""
        if not self._leads or self._is_under_min_isr:
            return ()
        marks = self._marks
        point = marks.end_offset
        for progress in self._awaited:
            point = min(point, progress.end_offset)
        if point <= marks.high_watermark:
            return ()
        committed: Committed = marks.commit(point)
        waits = self._commit_waits.take_committed(point)
        return (committed, CommitWaitsEnded(waits, ErrorCode.NONE)) if waits else (committed,)

    def check(self) -> None:
        self._marks.check()
        assert not self._leads or self._leader == self._node_id
        assert not self._commits_alone or (self._leads and self.high_watermark == self.end_offset)
        assert self._leads or not self._followers
        assert self._commits_alone == (self._leads and not self._awaited and not self._is_under_min_isr)
        if self._leads and not self._is_under_min_isr:
            ends = [progress.end_offset for progress in self._awaited]
            assert self.high_watermark >= min([self.end_offset, *ends]), "committed, and nobody has looked"
        maximal = self._in_sync.maximal if self._leads else ()
        awaited = [self._followers[node] for node in maximal if node != self._node_id]
        assert self._awaited == (*awaited, *((self._on_disk,) if self._leads and self._waits_for_disk else ()))
        for progress in self._followers.values():
            progress.check()
        proposal, known = self._in_sync.proposal, (self._leader_epoch, self._partition_epoch)
        assert proposal is None or (self._leads and (proposal.leader_epoch, proposal.partition_epoch) == known)
        assert self._leads or not len(self._commit_waits)
        self._commit_waits.check(self._leader_epoch, self.high_watermark)
