"""One partition that this broker copies from its leader: what to ask for next, and what an answer means for the log (KIP-595).

A step machine for one leader in one leader epoch; the next assignment makes another one. It holds no offsets of its own: where
to go on is where the log ends. Who executes the effects owns the log, and the connection to the leader.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, TypeAlias

from mypy_extensions import i64, mypyc_attr

from millstream_log import EpochEnd, EpochStart
from millstream_wire.errors import ErrorCode
from millstream_wire.records import BatchHeader

NO_EPOCH: Final = -1
NO_OFFSET: Final = -1
BACKOFF_FIRST_MS: Final = 20
PASSING: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""One of us learns later than the other that a leader was elected, or a topic created: no news unless it lasts."""


class FollowedLog(Protocol):
    """What is asked of the log; `millstream_log.Log` is one."""

    @property
    def log_start_offset(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    @property
    def epochs(self) -> tuple[EpochStart, ...]: ...
    def end_of_epoch(self, epoch: int) -> EpochEnd: ...


class Phase(Enum):
    FETCHING = "fetching"
    TRUNCATING = "truncating"
    """Until `on_truncated` nothing is asked, and nothing else touches the log."""
    BACKING_OFF = "backing off"
    """Until `on_rested` nothing is asked."""


@mypyc_attr(acyclic=True)
class FetchFrom:
    """The question to the leader: what follows at `offset`, if we have everything before it in common?

    Not a dataclass, nor are those that follow: some of each are made for every record, and compiled this costs a tenth.
    """

    __slots__ = ("cannot_append", "last_fetched_epoch", "leader_epoch", "log_start_offset", "offset")

    def __init__(
        self,
        offset: i64,
        leader_epoch: int,
        last_fetched_epoch: int,
        log_start_offset: i64,
        cannot_append: bool = False,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.cannot_append = cannot_append
        """What we were sent last could not be appended: the leader need not keep the others waiting for us."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FetchFrom)
            and self.offset == other.offset
            and self.leader_epoch == other.leader_epoch
            and self.last_fetched_epoch == other.last_fetched_epoch
            and self.log_start_offset == other.log_start_offset
            and self.cannot_append == other.cannot_append
        )

    def __hash__(self) -> int:
        return hash((self.offset, self.leader_epoch, self.last_fetched_epoch, self.log_start_offset))

    def __repr__(self) -> str:
        told = ", cannot_append=True" if self.cannot_append else ""
        epochs = f"{self.leader_epoch}, {self.last_fetched_epoch}"
        return f"FetchFrom({self.offset}, {epochs}, {self.log_start_offset}{told})"


@mypyc_attr(acyclic=True)
class Answer:
    """What the leader said to one question. `batches` are the headers of whole, intact batches, in the answer's order."""

    __slots__ = (
        "batches",
        "diverging_end_offset",
        "diverging_epoch",
        "error_code",
        "high_watermark",
        "log_start_offset",
        "unreadable",
    )

    def __init__(
        self,
        error_code: ErrorCode = ErrorCode.NONE,
        high_watermark: i64 = NO_OFFSET,
        log_start_offset: i64 = NO_OFFSET,
        diverging_epoch: i64 = NO_EPOCH,
        diverging_end_offset: i64 = NO_OFFSET,
        batches: Sequence[BatchHeader] = (),
        unreadable: str = "",
    ) -> None:
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset
        """With OFFSET_OUT_OF_RANGE, too; NO_OFFSET if the leader does not say."""
        self.diverging_epoch = diverging_epoch
        self.diverging_end_offset = diverging_end_offset
        """Where the largest epoch that the leader has, up to the one that we named, ends in its log."""
        self.batches = batches
        self.unreadable = unreadable
        """Why the rest of the answer is not among the batches."""


@mypyc_attr(acyclic=True)
class Append:
    """Append the first `count` batches of the answer, each as its leader stamped it. An error goes to `on_append_failed`."""

    __slots__ = ("count",)

    def __init__(self, count: i64) -> None:
        self.count = count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Append) and self.count == other.count

    def __repr__(self) -> str:
        return f"Append({self.count})"


@mypyc_attr(acyclic=True)
class Follow:
    """After what was appended: the leader says up to where its log is committed, and where it begins."""

    __slots__ = ("high_watermark", "log_start_offset")

    def __init__(self, high_watermark: i64, log_start_offset: i64) -> None:
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Follow) and repr(self) == repr(other)

    def __repr__(self) -> str:
        return f"Follow({self.high_watermark}, {self.log_start_offset})"


@dataclass(frozen=True, slots=True)
class Truncate:
    """Cut the log so that it ends at `offset`, even if it already does: epochs without records go, too. Then `on_truncated`.

    `committed` is how many offsets below the high watermark go: more than none only after an unclean election.
    """

    offset: int
    committed: int = 0


@dataclass(frozen=True, slots=True)
class TruncateFully:
    """Drop everything and begin again at `start_offset`, then `on_truncated`, and only then what else was decided."""

    start_offset: int
    committed: int = 0


@dataclass(frozen=True, slots=True)
class BackOff:
    """Ask again after a while (`on_rested`). `is_news`: nobody was told of this reason since it went well."""

    wait_ms: int
    reason: str
    is_news: bool


Effect: TypeAlias = Append | Follow | Truncate | TruncateFully | BackOff


@mypyc_attr(allow_interpreted_subclasses=True)
class Follower:
    """Invariant (`check`): it asks only while nothing else is done to the log; each truncation leaves less of what diverges."""

    __slots__ = ("_cannot_append", "_failures", "_log", "_told", "leader", "leader_epoch", "phase")

    def __init__(self, leader: int, leader_epoch: int, log: FollowedLog, *, cannot_append: bool = False) -> None:
        """`cannot_append`: the log refused an append not long ago, whoever led then."""
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.phase = Phase.FETCHING
        self._log = log
        self._failures = 0
        """How often it has backed off since an answer was good."""
        self._told = ""
        self._cannot_append = cannot_append
        """Until the refusal is over, or the log is cut: then there may be room."""

    def question(self) -> FetchFrom | None:
        """What to ask the leader; None while there is something else to be done first."""
        if self.phase is not Phase.FETCHING:
            return None
        log = self._log
        epochs = log.epochs
        last = epochs[-1].epoch if epochs else NO_EPOCH
        return FetchFrom(log.log_end_offset, self.leader_epoch, last, log.log_start_offset, self._cannot_append)

    # ---- events ----

    def on_answer(
        self, asked: FetchFrom, answer: Answer, *, high_watermark: int, may_have_gaps: bool, backoff_max_ms: int
    ) -> tuple[Effect, ...]:
        """The leader has answered. `may_have_gaps`: the topic is or was compacted, as we or the leader know."""
        now = self.question()
        if now is None or (now.offset, now.last_fetched_epoch) != (asked.offset, asked.last_fetched_epoch):
            return ()  # the log has moved on since
        if answer.error_code is ErrorCode.OFFSET_OUT_OF_RANGE and answer.log_start_offset >= 0:
            effect = self._on_out_of_range(now, answer.log_start_offset, high_watermark)
            if effect is not None:
                return (effect,)
        if answer.error_code is not ErrorCode.NONE:
            is_passing = answer.error_code in PASSING
            return (self._back_off(answer.error_code.name, backoff_max_ms, is_passing=is_passing),)
        if answer.diverging_epoch >= 0:
            return (self._on_diverging(answer.diverging_epoch, answer.diverging_end_offset, high_watermark),)
        return self._on_batches(now, answer, may_have_gaps, backoff_max_ms)

    def on_followed(self) -> None:
        """All that an answer asked for is done: the next failure is a new one."""
        self._failures, self._told = 0, ""

    def on_truncated(self) -> None:
        assert self.phase is Phase.TRUNCATING
        self.phase = Phase.FETCHING
        self._cannot_append = False

    @property
    def cannot_append(self) -> bool:
        return self._cannot_append

    def on_refusal_over(self) -> None:
        """Appends have succeeded for a while, or the refusal is so long ago that it says nothing."""
        self._cannot_append = False

    def on_append_failed(self, reason: str, backoff_max_ms: int) -> tuple[Effect, ...]:
        """Ask again at once, which tells the leader and tries the log a second time; then after longer and longer."""
        is_told, self._cannot_append = self._cannot_append, True
        return (self._back_off(reason, backoff_max_ms, is_waiting=is_told),)

    def on_failed(self, reason: str, backoff_max_ms: int) -> tuple[Effect, ...]:
        """The leader could not be asked, or the log could not be cut."""
        return (self._back_off(reason, backoff_max_ms),)

    def on_rested(self) -> None:
        assert self.phase is Phase.BACKING_OFF
        self.phase = Phase.FETCHING

    # ---- decisions ----

    def _on_out_of_range(self, asked: FetchFrom, leader_start: int, high_watermark: int) -> Effect | None:
        """The leader has nothing any more at our end, or an empty log of ours begins behind its end.

        Records in front of the leader's start went by retention or by request. Where we have records, and not behind its start,
        the leader would have named a diverging epoch: then there is no reason to drop them.
        """
        if leader_start <= asked.offset and asked.log_start_offset < asked.offset:
            return None
        self.phase = Phase.TRUNCATING
        return TruncateFully(leader_start, max(0, high_watermark - leader_start))

    def _on_diverging(self, epoch: int, end_offset: int, high_watermark: int) -> Effect:
        """Up to the end of the epoch, in whichever log it is shorter, both logs may agree; what follows does not.

        The next answer looks at what is left. Each time the last epoch or the end gets smaller, so it comes to an end.
        """
        log = self._log
        own = log.end_of_epoch(epoch)
        offset = min(end_offset, own.end_offset if own.epoch >= 0 else log.log_end_offset, log.log_end_offset)
        self.phase = Phase.TRUNCATING
        committed = max(0, high_watermark - offset)
        if offset < log.log_start_offset:
            return TruncateFully(offset, committed)
        return Truncate(offset, committed)

    def _on_batches(
        self, asked: FetchFrom, answer: Answer, may_have_gaps: bool, backoff_max_ms: int
    ) -> tuple[Effect, ...]:
        follow = Follow(answer.high_watermark, answer.log_start_offset)
        first = answer.batches[0] if answer.batches else None
        effects: list[Effect] = []
        end_offset = asked.offset
        if first is not None and asked.log_start_offset == end_offset and _spans(first, end_offset):
            # The leader's log begins inside a batch, and the batch is copied whole: `follow` moves the start.
            effects.append(TruncateFully(first.base_offset))
            end_offset = first.base_offset
        count, refusal = self._acceptable(answer.batches, end_offset, asked.last_fetched_epoch, may_have_gaps)
        refusal = refusal or answer.unreadable
        if count == 0 and refusal:
            return (self._back_off(refusal, backoff_max_ms),)
        if effects:
            self.phase = Phase.TRUNCATING
        if count:
            effects.append(Append(count))
        return (*effects, follow)

    def _acceptable(
        self, batches: Sequence[BatchHeader], end_offset: int, last_epoch: int, may_have_gaps: bool
    ) -> tuple[int, str]:
        """How many of the batches may follow the log one after the other, and why the next one may not."""
        for count, batch in enumerate(batches):
            base_offset, epoch = int(batch.base_offset), int(batch.leader_epoch)
            if base_offset < end_offset:
                return count, f"a batch at offset {base_offset} where {end_offset} is next"
            if base_offset > end_offset and not may_have_gaps:
                return count, f"offsets {end_offset} to {base_offset} are missing in a log that was never compacted"
            if not last_epoch <= epoch <= self.leader_epoch:
                return count, f"a batch of epoch {epoch} after {last_epoch}, from the leader of {self.leader_epoch}"
            end_offset, last_epoch = batch.next_offset, epoch
        return len(batches), ""

    def _back_off(self, reason: str, max_ms: int, *, is_passing: bool = False, is_waiting: bool = True) -> BackOff:
        wait_ms = min(BACKOFF_FIRST_MS << min(self._failures, 20), max_ms) if is_waiting else 0
        is_news = reason != self._told and (wait_ms == max_ms or not is_passing)
        self.phase = Phase.BACKING_OFF
        self._failures += 1
        if is_news:
            self._told = reason
        return BackOff(wait_ms, reason, is_news)

    def check(self) -> None:
        assert (self.question() is None) == (self.phase is not Phase.FETCHING)
        assert self._failures >= 0


def _spans(batch: BatchHeader, offset: int) -> bool:
    return batch.base_offset < offset < batch.next_offset
