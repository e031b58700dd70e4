"""One broker's copy of a partition for the explorer: its log, its standing and its follower, as the shell joins them.

The log is a tuple of records. Everything that decides is the broker's own: `Partition`, `Follower`, what may be told to whom.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from millstream_broker.core.partition import follower as following
from millstream_broker.core.partition.commit_waits import CommitWaits
from millstream_broker.core.partition.effects import CommitWaitsEnded, Effect, ProposeIsr
from millstream_broker.core.partition.isr import IsrAnswer
from millstream_broker.core.partition.progress import Progress
from millstream_broker.core.partition.standing import NO_OFFSET, Assigned, Partition
from millstream_broker.core.reads.bounds import follower_refusal
from millstream_broker.shell.epoch_ends import end_of_epoch
from millstream_log import EpochEnd
from millstream_simulation.explorer.record_log import Record, RecordLog
from millstream_wire.errors import ErrorCode
from millstream_wire.records import BatchHeader

REPLICAS = (0, 1, 2)
MIN_ISR = 2
NOBODY = -1
NO_LIFE = -1


class Known(NamedTuple):
    """A state of the metadata: the partition, and each broker's registered life and whether it is unfenced."""

    isr: tuple[int, ...]
    elr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    lives: tuple[int, ...]
    unfenced: tuple[bool, ...]


class Fetch(NamedTuple):
    node: int
    life: int
    asked: following.FetchFrom


class Fetched(NamedTuple):
    """The answer to a fetch, which says again what was asked."""

    asked: following.FetchFrom
    error: ErrorCode
    records: tuple[Record, ...] = ()
    high_watermark: int = -1
    diverging: EpochEnd = EpochEnd(-1, -1)


class Proposed(NamedTuple):
    node: int
    life: int
    proposal: ProposeIsr


class Judged(NamedTuple):
    proposal: ProposeIsr
    answer: IsrAnswer


class Acknowledged(NamedTuple):
    """A producer with acks=all was told that its record is committed."""

    offset: int
    record: Record


class Make(Protocol):
    """`Partition`, or a mutant of it."""

    def __call__(
        self,
        node_id: int,
        *,
        end_offset: int,
        high_watermark: int,
        first_unstable: int = NO_OFFSET,
        ended: Sequence[tuple[int, int]] = (),
        min_insync_replicas: int,
    ) -> Partition: ...


def unheard(_: ErrorCode) -> None:
    """Waits are told apart by their offsets and epochs, so that a system can be copied."""


@dataclass(slots=True)
class Replica:
    """One process. `told` is what its clients and the controller are to hear."""

    node: int
    make: Make
    life: int
    log: RecordLog = field(default_factory=RecordLog)
    applied: int = 0
    """How much of the metadata it knows."""
    partition: Partition = field(init=False)
    follower: following.Follower | None = None
    asked: bool = False
    """A fetch of the present follower is under way."""
    is_full: bool = False
    """Its disk takes nothing that it copies."""
    awaited: dict[tuple[int, int], Record] = field(default_factory=dict)
    """By leader epoch and offset: what producers wait for."""
    acknowledged: tuple[Acknowledged, ...] = ()
    proposals: tuple[ProposeIsr, ...] = ()
    """To be sent."""

    def __post_init__(self) -> None:
        self.partition = self.make(self.node, end_offset=0, high_watermark=0, min_insync_replicas=MIN_ISR)

    # ---- as the metadata says ----

    def learn(self, known: Known) -> None:
        """A broker leads and follows nothing before the metadata says so of its present life."""
        if known.lives[self.node] != self.life:
            return
        event = Assigned(REPLICAS, known.isr, known.leader, known.leader_epoch, known.partition_epoch)
        self._perform(self.partition.on_assigned(event))
        present = self.follower
        if known.leader in (NOBODY, self.node):
            self.follower = None
        elif present is None or (present.leader, present.leader_epoch) != (known.leader, known.leader_epoch):
            self.follower = following.Follower(known.leader, known.leader_epoch, self.log)
            self.asked = False

    # ---- as a leader ----

    def append(self, value: int) -> Record:
        record = Record(int(self.partition.leader_epoch), value, self.log.first_unstable)
        self.log.records += (record,)
        self._perform(self.partition.on_appended(len(self.log.records), 1, self.log.first_unstable, record.ended_from))
        if self.partition.high_watermark < len(self.log.records):
            self.partition.await_commit(len(self.log.records) - 1, unheard)
            self.awaited[record.leader_epoch, len(self.log.records) - 1] = record
        else:
            self.acknowledged += (Acknowledged(len(self.log.records) - 1, record),)
        return record

    def serve(self, fetch: Fetch, known: Known) -> Fetched:
        """As `api/fetch.py` does for followers."""
        asked, partition = fetch.asked, self.partition
        error = partition.refusal(asked.leader_epoch)
        if error is ErrorCode.NONE:
            error = follower_refusal(
                partition,
                fetch.node,
                is_itself=True,
                broker_epoch=fetch.life,
                registered_epoch=known.lives[fetch.node],
                current_leader_epoch=asked.leader_epoch,
            )
        if error is not ErrorCode.NONE:
            return Fetched(asked, error)
        if asked.last_fetched_epoch >= 0:
            as_hosted: Any = self
            ended = end_of_epoch(as_hosted, asked.last_fetched_epoch)
            if ended.epoch < 0:
                return Fetched(asked, ErrorCode.OFFSET_OUT_OF_RANGE)
            if ended.epoch != asked.last_fetched_epoch or ended.end_offset < asked.offset:
                return Fetched(asked, ErrorCode.NONE, high_watermark=int(partition.high_watermark), diverging=ended)
        if asked.offset > len(self.log.records):
            return Fetched(asked, ErrorCode.OFFSET_OUT_OF_RANGE)
        before, may_join = partition._in_sync.proposal, known.unfenced[fetch.node]
        self._perform(
            partition.on_fetched(
                fetch.node,
                asked.offset,
                broker_epoch=fetch.life,
                now_ms=0,
                may_join=may_join,
                cannot_append=asked.cannot_append,
            )
        )
        if asked.cannot_append:
            self._check_left_out(fetch.node, before)
        records = self.log.records[asked.offset : asked.offset + 2]
        return Fetched(asked, ErrorCode.NONE, records, int(partition.high_watermark))

    def _check_left_out(self, node: int, before: ProposeIsr | None) -> None:
        """Who said that it cannot append is on its way out of the ISR, and not let in."""
        in_sync = self.partition._in_sync
        proposal = in_sync.proposal
        assert proposal is not None or node not in in_sync.committed, f"replica {node} stays and cannot append"
        is_new = proposal is not None and proposal != before
        joins = is_new and proposal is not None and node in (member.node_id for member in proposal.isr)
        assert not joins, f"replica {node} joins and cannot append"

    def lose_patience(self) -> None:
        """So much time has passed that whoever does not have everything lags."""
        for now_ms in 1, 2:
            self._perform(self.partition.on_tick(now_ms, 0))

    def judged(self, proposal: ProposeIsr, answer: IsrAnswer) -> None:
        self._perform(self.partition.on_isr_answered(proposal, answer))

    def _perform(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            if isinstance(effect, ProposeIsr):
                self.proposals += (effect,)
            elif isinstance(effect, CommitWaitsEnded) and effect.error_code is ErrorCode.NONE:
                for wait in effect.waits:
                    offset = int(wait.offset)
                    record = self.awaited[int(wait.leader_epoch), offset]
                    self.acknowledged += (Acknowledged(offset, record),)

    # ---- as a follower ----

    def question(self) -> Fetch | None:
        asked = None if self.follower is None or self.asked else self.follower.question()
        return None if asked is None else Fetch(self.node, self.life, asked)

    def heard(self, fetched: Fetched) -> None:
        follower = self.follower
        if follower is None or follower.leader_epoch != fetched.asked.leader_epoch:
            return  # of a leader that is none any more
        self.asked = False
        high_watermark = int(self.partition.high_watermark)
        headers = tuple(
            BatchHeader(offset, 49, record.leader_epoch, 2, 0, 0, 0, 0, 0, -1, -1, -1, 1)
            for offset, record in enumerate(fetched.records, fetched.asked.offset)
        )
        answer = following.Answer(
            fetched.error,
            fetched.high_watermark,
            0,
            fetched.diverging.epoch,
            fetched.diverging.end_offset,
            headers,
        )
        for effect in follower.on_answer(
            fetched.asked, answer, high_watermark=high_watermark, may_have_gaps=False, backoff_max_ms=1
        ):
            self._follow(follower, effect, fetched)

    def _follow(self, follower: following.Follower, effect: following.Effect, fetched: Fetched) -> None:
        match effect:
            case following.Append() if self.is_full:
                for failed in follower.on_append_failed("it is full", 1):
                    self._follow(follower, failed, fetched)
            case following.Append(count=count):
                follower.on_refusal_over()
                before = self.log.log_end_offset
                self.log.records += fetched.records[:count]
                self.partition.on_followed(
                    len(self.log.records),
                    count,
                    self.partition.high_watermark,
                    self.log.first_unstable,
                    self.log.ended(before),
                )
            case following.Follow(high_watermark=high_watermark):
                self.partition.on_followed(len(self.log.records), 0, high_watermark, self.log.first_unstable)
            case following.Truncate(offset, committed):
                assert committed == 0, f"replica {self.node} cuts off what is committed"
                self.log.records = self.log.records[:offset]
                known = int(self.partition.high_watermark)
                self.partition.on_truncated(offset, self.log.first_unstable, self.log.ended(known))
                follower.on_truncated()
            case following.BackOff():
                follower.on_rested()
            case following.TruncateFully():
                raise AssertionError("no log begins later than another")

    # ---- to be explored ----

    def restarted(self, kept: int, high_watermark: int) -> "Replica":
        """Another process with what is left of the log, not registered yet."""
        again = Replica(self.node, self.make, NO_LIFE, RecordLog(self.log.records[:kept]), self.applied)
        high_watermark = min(kept, high_watermark)
        again.partition = self.make(
            self.node,
            end_offset=kept,
            high_watermark=high_watermark,
            first_unstable=again.log.first_unstable,
            ended=again.log.ended(high_watermark),
            min_insync_replicas=MIN_ISR,
        )
        return again

    def undecided(self) -> list[tuple[int, int]]:
        """Transactions that readers take for decided, and whose marker is not committed, or not there."""
        stable, high_watermark = int(self.partition.last_stable_offset), int(self.partition.high_watermark)
        marker_of = {first: marker for marker, first in self.log.ended(0)}
        begun = [offset for offset, record in enumerate(self.log.records[:stable]) if record.ended_from < 0]
        markers = [(first, marker_of.get(first, NO_OFFSET)) for first in begun]
        return [(first, marker) for first, marker in markers if not 0 <= marker < high_watermark]

    def fingerprint(self) -> Hashable:
        partition, follower = self.partition, self.follower
        progress = tuple(
            (node, *(int(getattr(each, name)) for name in _OF_PROGRESS)) for node, each in partition._followers.items()
        )
        standing = (
            *(int(value) for value in (partition._leader_epoch, partition._partition_epoch, partition.high_watermark)),
            int(partition.last_stable_offset),
            (partition.leads, int(partition.epoch_start_offset), partition._in_sync.committed),
            (partition._in_sync.proposal, partition._in_sync.is_in_doubt),
            tuple(sorted((offset, wait.leader_epoch) for offset, _, wait in partition._commit_waits._heap)),
            progress,
        )
        followed = None if follower is None else (follower.leader, follower.leader_epoch, follower.question())
        shown = (self.log.records, self.asked, self.is_full, followed)
        return self.life, self.applied, shown, self.proposals, standing

    def copy(self) -> "Replica":
        again = Replica(self.node, self.make, self.life, RecordLog(self.log.records), self.applied)
        again.partition = self._copied_partition()
        if self.follower is not None:
            again.follower = following.Follower(self.follower.leader, self.follower.leader_epoch, again.log)
            again.follower._cannot_append = self.follower._cannot_append
        again.awaited = dict(self.awaited)
        again.asked, again.acknowledged, again.proposals = self.asked, self.acknowledged, self.proposals
        again.is_full = self.is_full
        return again

    def _copied_partition(self) -> Partition:
        mine = self.partition
        end_offset, high_watermark = int(mine.end_offset), int(mine.high_watermark)
        again = self.make(
            self.node,
            end_offset=end_offset,
            high_watermark=high_watermark,
            first_unstable=int(mine._marks._first_unstable),
            ended=mine._marks._ended,
            min_insync_replicas=MIN_ISR,
        )
        again._marks.last_stable_offset = mine._marks.last_stable_offset
        for name in _PLAIN:
            setattr(again, name, getattr(mine, name))
        for name in _OF_ISR:
            setattr(again._in_sync, name, getattr(mine._in_sync, name))
        again._followers = {node: _copied(progress) for node, progress in mine._followers.items()}
        node_of = {id(progress): node for node, progress in mine._followers.items()}
        again._awaited = tuple(again._followers[node_of[id(progress)]] for progress in mine._awaited)
        again._commit_waits = CommitWaits()
        for offset, _, wait in sorted(mine._commit_waits._heap):
            again._commit_waits.add(wait.leader_epoch, offset, unheard)
        return again


# Compiled classes have no list of their attributes, and no other way to copy them.
_OF_ISR = ("committed", "proposal", "is_in_doubt")
_OF_PROGRESS = (
    "end_offset",
    "broker_epoch",
    "cannot_append",
    "caught_up_ms",
    "fetched_ms",
    "leader_end_offset",
    "log_start_offset",
)
_PLAIN = (
    "_replicas",
    "_leader",
    "_leader_epoch",
    "_partition_epoch",
    "_leads",
    "_epoch_start_offset",
    "_commits_alone",
)


def _copied(progress: Progress) -> Progress:
    again = Progress()
    for name in _OF_PROGRESS:
        setattr(again, name, getattr(progress, name))
    return again
